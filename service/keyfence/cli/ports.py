"""Opens the listening sockets of `keyfence dev`, `keyfence gate` and `keyfence serve`."""

import errno
import socket
from contextlib import suppress

from keyfence.errors import KeyfenceError

MAX_PORT = 65535


class PortUnusable(KeyfenceError):
    """The command cannot listen on an address."""


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Returns a socket that already listens. Raises PortUnusable, which names `option`, if the port is taken.

    A client that connects before the server is ready waits until the server accepts it.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} on {host} is already in use: choose another one with {option}."
        else:
            message = f"Cannot listen on {host} port {port}: {error.strerror or error}."
        raise PortUnusable(message) from error


def listen_near(host: str, port: int | None, preferred_port: int, option: str) -> socket.socket:
    """Listens on `port`. If `port` is None, listens on the first free port from `preferred_port` upwards."""
    if port is not None:
        return listen(host, port, option)
    for candidate in range(preferred_port, MAX_PORT):
        with suppress(PortUnusable):
            return listen(host, candidate, option)
    return listen(host, preferred_port, option)
