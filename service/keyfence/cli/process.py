"""Listening socket, signals."""

import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from keyfence.errors import KeyfenceError


class PortUnusable(KeyfenceError):
    """An address that cannot be listened on."""


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Listening at once: a second one on the port fails here, and early callers wait instead of being refused."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise PortUnusable(_sentence(host, port, option, error)) from error


def _sentence(host: str, port: int, option: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is already in use: choose another with {option}."
    return f"Cannot listen on {host} port {port}: {error.strerror or error}."


_HANDLERS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.default_int_handler,
    signal.SIGHUP: lambda *_: signal.raise_signal(signal.SIGTERM),
}
ENDINGS = tuple(_HANDLERS)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C and a polite kill are KeyboardInterrupt; a closed terminal is a kill, unless it was to be ignored (nohup).

    So whoever takes the first two for a while, as uvicorn does, takes all three.
    """
    wanted = [number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _HANDLERS[number]) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ignoring_signals() -> Iterator[None]:
    """Impatience is not heard while something short has to be finished."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
