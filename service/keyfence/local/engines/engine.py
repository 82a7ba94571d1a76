"""What every local DynamoDB engine can do, and how it can fail."""

from collections.abc import Callable
from typing import Protocol

from keyfence.errors import KeyfenceError

Progress = Callable[[str], None]
"""Told, in a few words, what is being done now."""


class Engine(Protocol):
    """A DynamoDB that runs on this machine."""

    @property
    def name(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def persistent(self) -> bool:
        """Whether the data outlives `stop`."""

    def failure(self) -> str | None:
        """Why the engine ended by itself, or None while it runs."""

    def stop(self) -> None: ...


class EngineMissing(KeyfenceError):
    """The engine is not on this machine and cannot be obtained."""


class EngineBusy(KeyfenceError):
    """Another process holds the engine's data."""


class EngineFailed(KeyfenceError):
    """The engine was there and did not start, or ended by itself."""
