"""Signals that interrupt a command."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from keyfence.errors import KeyfenceError

_HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.default_int_handler,
    signal.SIGHUP: lambda *_: signal.raise_signal(signal.SIGTERM),
}
SIGNALS = tuple(_HANDLERS)


class Interrupted(KeyfenceError):
    """A signal ended the command before it was done. The message says how to continue; the exit code is 130."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt for SIGINT and SIGTERM. SIGHUP counts as SIGTERM, unless SIGHUP is ignored (nohup).

    uvicorn replaces the handlers of SIGINT and SIGTERM. It then handles SIGHUP too, because the handler of SIGHUP
    raises SIGTERM.
    """
    signals = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    previous_handlers = {number: signal.signal(number, _HANDLERS[number]) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


@contextmanager
def ignoring_signals() -> Iterator[None]:
    """Lets a short cleanup finish, even if the user presses Ctrl-C again."""
    previous_handlers = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
