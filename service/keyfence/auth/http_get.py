"""One HTTP GET, with limits on the address, the time and the size of the answer."""

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
_CHUNK_BYTES = 8 * 1024


class FetchFailed(Exception):
    """The GET failed. The message is for the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How long the server may send nothing, how long everything may take, and how large the body may be."""

    idle_seconds: float = 2.0
    total_seconds: float = 4.0
    max_body_bytes: int = MAX_BODY_BYTES


DEFAULT_LIMITS = FetchLimits()


def http_get(target: FetchTarget, policy: EgressPolicy, limits: FetchLimits = DEFAULT_LIMITS) -> bytes:
    """Returns the body of an answer with status 200. Raises FetchFailed for everything else.

    It blocks for as long as the limits and the resolver allow: call it in a thread. It uses no proxy, because a proxy
    would resolve the name itself, and it follows no redirect."""
    deadline = _Deadline(time.monotonic() + limits.total_seconds, limits.idle_seconds)
    try:
        with _connect(target, policy, deadline) as sock:
            deadline.send(sock, _request(target))
            reader = cast("socket.socket", _TimedReader(sock, deadline))
            return _body(HTTPResponse(reader, method="GET"), limits.max_body_bytes)
    except EgressDenied as error:
        raise FetchFailed(str(error)) from None
    except (OSError, HTTPException, ValueError) as error:
        raise FetchFailed(type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class _Deadline:
    """The end of the whole GET. A socket's own timeout begins again with every byte; this one does not."""

    ends_at: float
    idle_seconds: float

    def next_wait(self) -> float:
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, self.idle_seconds)

    def send(self, sock: socket.socket, content: bytes) -> None:
        sock.settimeout(self.next_wait())
        sock.sendall(content)


class _TimedReader(io.RawIOBase):
    """A socket with a deadline, for HTTPResponse, which only calls `makefile` on a socket."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._sock.settimeout(self._deadline.next_wait())
        return self._sock.recv_into(buffer)


@contextmanager
def _connect(target: FetchTarget, policy: EgressPolicy, deadline: _Deadline) -> Iterator[socket.socket]:
    """Connects to one of the addresses that the policy has checked. The certificate must be valid for the host name."""
    with _open_socket(policy.addresses(target), target.port, deadline) as plain:
        if not target.uses_tls:
            yield plain
            return
        plain.settimeout(deadline.next_wait())
        with policy.tls_context().wrap_socket(plain, server_hostname=target.host) as sock:
            yield sock


def _open_socket(addresses: Sequence[str], port: int, deadline: _Deadline) -> socket.socket:
    """Tries the addresses in turn. Raises the error of the last one."""
    *others, last = addresses
    for address in others:
        try:
            return socket.create_connection((address, port), timeout=deadline.next_wait())
        except OSError:
            continue
    return socket.create_connection((last, port), timeout=deadline.next_wait())


def _request(target: FetchTarget) -> bytes:
    lines = (
        f"GET {target.request_target} HTTP/1.1",
        f"Host: {target.authority}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "User-Agent: keyfence",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _body(response: HTTPResponse, max_bytes: int) -> bytes:
    response.begin()
    if response.status != 200:
        raise FetchFailed(f"status {response.status}")
    body = bytearray()
    while chunk := response.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise FetchFailed(f"more than {max_bytes} bytes")
    if response.length:
        raise FetchFailed("ended too early")
    return bytes(body)
