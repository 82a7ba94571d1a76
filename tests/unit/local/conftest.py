"""A dynoxide binary for the tests of this folder, fetched once for all runs of this user."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.local import dynoxide
from service.local.binary import obtain, shared_cache
from service.local.engine import EngineMissing


def quiet(_: str) -> None:
    """Progress that nobody follows."""


@pytest.fixture(scope="session")
def binary() -> Path:
    try:
        return obtain(shared_cache(), quiet)
    except EngineMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(missing.message)


@pytest.fixture
def engine(binary: Path, tmp_path: Path) -> Iterator[dynoxide.Dynoxide]:
    running = dynoxide.start(tmp_path, quiet, binary)
    yield running
    if running.failure() is None:
        running.stop()
