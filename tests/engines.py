"""The DynamoDB engines that tests run on: dynoxide if its binary can be found or fetched, otherwise moto."""

import os
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import pytest

from keyfence.local.engines import dynoxide, moto
from keyfence.local.engines.dynoxide_binary import find_or_fetch
from keyfence.local.engines.engine import Engine, EngineMissing

EngineName = Literal["dynoxide", "moto"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def dynoxide_binary(directory: Path | None = None) -> Path:
    """Returns the binary of dynoxide from `directory`, or from the cache that all test runs of this user share.

    Skips the test if the binary cannot be fetched. On CI, raises EngineMissing instead."""
    try:
        return find_or_fetch(directory or shared_cache(), _ignore_progress)
    except EngineMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(missing.message)  # Without npm, tests that do not need dynoxide still run on moto.


@cache
def preferred_engine() -> EngineName:
    """Returns dynoxide, which is several times faster, or moto if dynoxide cannot be fetched."""
    try:
        find_or_fetch(shared_cache(), _ignore_progress)
    except EngineMissing:
        if os.environ.get("CI"):
            raise
        return "moto"
    return "dynoxide"


class Engines:
    """The engines of one test module. An engine starts when a test first needs it.

    Each module has its own dynoxide, which starts in 30 ms. All modules share one moto, which starts slowly."""

    def __init__(self, directory: Path, shared: dict[str, Engine]) -> None:
        self._directory = directory
        self._shared = shared
        self._module_engines: dict[str, Engine] = {}

    def __getitem__(self, name: str) -> Engine:
        if name == "moto":
            return self._shared.get(name) or self._shared.setdefault(name, moto.start(_ignore_progress))
        return self._module_engines.get(name) or self._module_engines.setdefault(name, self._start_dynoxide())

    def stop(self) -> None:
        for engine in self._module_engines.values():
            engine.stop()

    def _start_dynoxide(self) -> Engine:
        return dynoxide.start(self._directory, _ignore_progress, dynoxide_binary())


def _ignore_progress(_: str) -> None:
    pass


def shared_cache() -> Path:
    """Returns a directory in the user's cache, so that test runs fetch the binary once."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keyfence"
    directory.mkdir(parents=True, exist_ok=True)
    return directory
