"""The interface of local DynamoDB engines, and their errors."""

from collections.abc import Callable
from typing import Protocol

from keyfence.errors import KeyfenceError

OnProgress = Callable[[str], None]
"""A function that receives a few words about the current step."""


class Engine(Protocol):
    """A running DynamoDB engine."""

    @property
    def name(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def is_persistent(self) -> bool:
        """Whether the data still exists after `stop`."""

    def failure(self) -> str | None:
        """Returns a message that says why the engine stopped by itself, or None while it runs."""

    def stop(self) -> None: ...


class EngineMissing(KeyfenceError):
    """The engine is not on this machine and cannot be fetched."""


class EngineBusy(KeyfenceError):
    """Another process uses the engine's data."""


class EngineFailed(KeyfenceError):
    """The engine did not start, or stopped by itself."""
