"""The socket that a server listens on, taken before anything slow is done."""

import errno
import socket

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
