"""A dynoxide binary for the tests of this folder, fetched once for all test runs of this user."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keyfence.local.engines import dynoxide

Start = Callable[[Path], dynoxide.Dynoxide]


def quiet(_: str) -> None:
    """Ignores progress."""


@pytest.fixture
def start(dynoxide_program: Path) -> Iterator[Start]:
    """Yields a function that starts dynoxide on a directory. Engines that still run are stopped after the test."""
    started: list[dynoxide.Dynoxide] = []

    def start_on(directory: Path) -> dynoxide.Dynoxide:
        directory.mkdir(exist_ok=True)
        started.append(dynoxide.start(directory, quiet, dynoxide_program))
        return started[-1]

    yield start_on
    for running in started:
        if running.failure() is None:
            running.stop()


@pytest.fixture
def engine(start: Start, tmp_path: Path) -> dynoxide.Dynoxide:
    return start(tmp_path)
