"""A dynoxide binary for the tests of this folder, fetched once for all runs of this user."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keyfence.local.engines import dynoxide

Start = Callable[[Path], dynoxide.Dynoxide]


def quiet(_: str) -> None:
    """Progress that nobody follows."""


@pytest.fixture
def start(dynoxide_program: Path) -> Iterator[Start]:
    """Starts dynoxide on a directory; whatever still runs when the test is over, it ends."""
    started: list[dynoxide.Dynoxide] = []

    def begin(directory: Path) -> dynoxide.Dynoxide:
        directory.mkdir(exist_ok=True)
        started.append(dynoxide.start(directory, quiet, dynoxide_program))
        return started[-1]

    yield begin
    for running in started:
        if running.failure() is None:
            running.stop()


@pytest.fixture
def engine(start: Start, tmp_path: Path) -> dynoxide.Dynoxide:
    return start(tmp_path)
