"""One GET with bounds on where it goes, how long it takes and how much it brings."""

import io
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, cast

from keyfence.auth.egress import EgressDenied, EgressPolicy, FetchTarget

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BODY_BYTES = 64 * 1024
_CHUNK = 8 * 1024


class FetchFailed(Exception):
    """It could not be had; the message is for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """`silence` is how long the other side may say nothing, `whole` how long all of it may take, in seconds."""

    idle_seconds: float = 2.0
    total_seconds: float = 4.0
    max_body_bytes: int = MAX_BODY_BYTES


DEFAULT_LIMITS = FetchLimits()


def http_get(target: FetchTarget, policy: EgressPolicy, limits: FetchLimits = DEFAULT_LIMITS) -> bytes:
    """The body of a plain 200. Blocks for as long as the bounds and the resolver allow: call it in a thread.

    Nothing is asked of a proxy, which would look the name up for itself, and no redirect is followed."""
    until = _Until(time.monotonic() + limits.total_seconds, limits.idle_seconds)
    try:
        with _connection(target, policy, until) as sock:
            until.send(sock, _request(target))
            return _body(HTTPResponse(cast("socket.socket", _Timed(sock, until)), method="GET"), limits.max_body_bytes)
    except EgressDenied as error:
        raise FetchFailed(str(error)) from None
    except (OSError, HTTPException, ValueError) as error:
        raise FetchFailed(type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class _Until:
    """A socket's own timeout starts anew with every byte, the deadline does not."""

    deadline: float
    silence: float

    def next_wait(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, self.silence)

    def send(self, sock: socket.socket, content: bytes) -> None:
        sock.settimeout(self.next_wait())
        sock.sendall(content)


class _Timed(io.RawIOBase):
    """A socket as http.client reads it, which asks for a file and for nothing else."""

    def __init__(self, sock: socket.socket, until: _Until) -> None:
        self._sock, self._until = sock, until

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._sock.settimeout(self._until.next_wait())
        return self._sock.recv_into(buffer)


@contextmanager
def _connection(place: FetchTarget, reach: EgressPolicy, until: _Until) -> Iterator[socket.socket]:
    """To one of the very addresses that were checked; the certificate has to be the name's all the same."""
    with _dialled(reach.addresses(place), place.port, until) as plain:
        if not place.uses_tls:
            yield plain
            return
        plain.settimeout(until.next_wait())
        with reach.tls_context().wrap_socket(plain, server_hostname=place.host) as sock:
            yield sock


def _dialled(addresses: Sequence[str], port: int, until: _Until) -> socket.socket:
    *others, last = addresses
    for address in others:
        try:
            return _dial(address, port, until)
        except OSError:
            continue
    return _dial(last, port, until)


def _dial(address: str, port: int, until: _Until) -> socket.socket:
    return socket.create_connection((address, port), timeout=until.next_wait())


def _request(place: FetchTarget) -> bytes:
    lines = (
        f"GET {place.request_target} HTTP/1.1",
        f"Host: {place.authority}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "User-Agent: keyfence",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _body(response: HTTPResponse, most: int) -> bytes:
    response.begin()
    if response.status != 200:
        raise FetchFailed(f"answered {response.status}")
    body = bytearray()
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > most:
            raise FetchFailed(f"more than {most} bytes")
    if response.length:
        raise FetchFailed("ended too early")
    return bytes(body)
