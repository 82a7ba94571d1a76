"""Listening sockets, signals and the exit code of an interrupted command."""

import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from keyfence.errors import KeyfenceError

_HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.default_int_handler,
    signal.SIGHUP: lambda *_: signal.raise_signal(signal.SIGTERM),
}
SIGNALS = tuple(_HANDLERS)
MAX_PORT = 65535


class PortUnusable(KeyfenceError):
    """The command cannot listen on an address."""


class Interrupted(KeyfenceError):
    """A signal ended the command before it was done; the message says how to continue. The exit code is 130."""


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Returns a socket that listens already: a second process fails here, and early clients wait to be accepted."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} on {host} is already in use: choose another one with {option}."
        else:
            message = f"Cannot listen on {host} port {port}: {error.strerror or error}."
        raise PortUnusable(message) from error


def listen_near(host: str, port: int | None, preferred: int, option: str) -> socket.socket:
    """Listens on `port` if one is given, else on `preferred` or the next free port above it."""
    for candidate in range(preferred, MAX_PORT) if port is None else ():
        with suppress(PortUnusable):
            return listen(host, candidate, option)
    return listen(host, preferred if port is None else port, option)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt for SIGINT and SIGTERM. SIGHUP counts as SIGTERM, unless it is ignored (nohup).

    A server that replaces the handlers of the first two, as uvicorn does, thereby handles all three.
    """
    numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _HANDLERS[number]) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignoring_signals() -> Iterator[None]:
    """Lets a short cleanup finish, even if the user presses Ctrl-C again."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
