"""A dynoxide binary for the tests of this folder, fetched once for all runs of this user."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keyfence.local.engines import dynoxide
from tests.dynoxide_binary import dynoxide_binary

Start = Callable[[Path], dynoxide.Dynoxide]


def quiet(_: str) -> None:
    """Progress that nobody follows."""


@pytest.fixture(scope="session")
def binary() -> Path:
    return dynoxide_binary()


@pytest.fixture
def start(binary: Path) -> Iterator[Start]:
    """Starts dynoxide on a directory; whatever still runs when the test is over, it ends."""
    started: list[dynoxide.Dynoxide] = []

    def begin(directory: Path) -> dynoxide.Dynoxide:
        directory.mkdir(exist_ok=True)
        started.append(dynoxide.start(directory, quiet, binary))
        return started[-1]

    yield begin
    for running in started:
        if running.failure() is None:
            running.stop()


@pytest.fixture
def engine(start: Start, tmp_path: Path) -> dynoxide.Dynoxide:
    return start(tmp_path)
