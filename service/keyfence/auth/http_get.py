"""`http_get`: one HTTP request with limits on the address, the time and the size of the response."""

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
"""Far more than the key sets of large identity providers, which have a few KiB."""

_CHUNK_BYTES = 8 * 1024


class FetchFailed(Exception):
    """The request failed. The message is for the log and not for clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """The limits of one request. A request that exceeds a limit fails."""

    idle_seconds: float = 2.0
    """How long the server may send nothing."""
    total_seconds: float = 4.0
    """How long the whole request may take, from the first connection to the last byte."""
    max_body_bytes: int = MAX_BODY_BYTES


DEFAULT_LIMITS = FetchLimits()


def http_get(target: FetchTarget, policy: EgressPolicy, limits: FetchLimits = DEFAULT_LIMITS) -> bytes:
    """Returns the body of a response with status 200. Raises FetchFailed for every other status and for errors.

    The function blocks for as long as the limits and the DNS resolver allow: call it in a thread. It uses no proxy,
    because a proxy would resolve the host name itself. It follows no redirect."""
    deadline = _Deadline(time.monotonic() + limits.total_seconds, limits.idle_seconds)
    try:
        with _connect(target, policy, deadline) as sock:
            deadline.send(sock, _request_bytes(target))
            reader = cast("socket.socket", _DeadlineReader(sock, deadline))
            return _read_body(HTTPResponse(reader, method="GET"), limits.max_body_bytes)
    except EgressDenied as error:
        raise FetchFailed(str(error)) from None
    except (OSError, HTTPException, ValueError) as error:
        raise FetchFailed(type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class _Deadline:
    """The time at which the whole request must have ended. The timeout of a socket is no substitute: it begins again
    with every byte that arrives."""

    ends_at: float
    idle_seconds: float

    def next_timeout_seconds(self) -> float:
        """Returns how long the next step may take. Raises TimeoutError after the deadline."""
        remaining_seconds = self.ends_at - time.monotonic()
        if remaining_seconds <= 0:
            raise TimeoutError
        return min(remaining_seconds, self.idle_seconds)

    def send(self, sock: socket.socket, content: bytes) -> None:
        sock.settimeout(self.next_timeout_seconds())
        sock.sendall(content)


class _DeadlineReader(io.RawIOBase):
    """Reads a socket until the deadline. HTTPResponse gets a `_DeadlineReader` in place of its socket. That works
    because HTTPResponse calls only the method `makefile` of its socket."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._sock.settimeout(self._deadline.next_timeout_seconds())
        return self._sock.recv_into(buffer)


@contextmanager
def _connect(target: FetchTarget, policy: EgressPolicy, deadline: _Deadline) -> Iterator[socket.socket]:
    """Connects to an address that the policy allows. The server's certificate must be valid for the host name."""
    with _open_socket(policy.addresses(target), target.port, deadline) as tcp_socket:
        if not target.uses_tls:
            yield tcp_socket
            return
        tcp_socket.settimeout(deadline.next_timeout_seconds())
        with policy.tls_context().wrap_socket(tcp_socket, server_hostname=target.host) as tls_socket:
            yield tls_socket


def _open_socket(addresses: Sequence[str], port: int, deadline: _Deadline) -> socket.socket:
    """Tries the addresses one after the other. Raises the error of the last address if no connection succeeds."""
    *first_addresses, last_address = addresses
    for address in first_addresses:
        try:
            return socket.create_connection((address, port), timeout=deadline.next_timeout_seconds())
        except OSError:
            continue
    return socket.create_connection((last_address, port), timeout=deadline.next_timeout_seconds())


def _request_bytes(target: FetchTarget) -> bytes:
    header_lines = (
        f"GET {target.request_target} HTTP/1.1",
        f"Host: {target.authority}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "User-Agent: keyfence",
        "Connection: close",
    )
    return "\r\n".join((*header_lines, "", "")).encode("ascii")


def _read_body(response: HTTPResponse, max_bytes: int) -> bytes:
    response.begin()
    if response.status != 200:
        raise FetchFailed(f"status {response.status}")
    body = bytearray()
    while chunk := response.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > max_bytes:
            raise FetchFailed(f"more than {max_bytes} bytes")
    if response.length:  # bytes that Content-Length promised and that did not arrive
        raise FetchFailed("ended too early")
    return bytes(body)
