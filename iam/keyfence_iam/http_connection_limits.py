"""A uvicorn protocol that limits the size of requests, the time that clients take, and the number of connections.

uvicorn's own protocol limits neither the size of a request head nor the time that a client takes to send a request.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Any, Literal, NoReturn, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

CONNECTION_GUARD_KEY = "connection_guard"
"""The key of the `ConnectionGuard` in the ASGI lifespan state.

If the state has no guard, the server makes a guard with default limits.
"""

SWEEP_SECONDS = 1.0
"""How often deadlines are checked. One timer for all connections is cheaper than a timer for each request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits of one server process. A connection that exceeds a limit is closed."""

    head_bytes: int = 64 * 1024
    """The most bytes of the request line and the headers together."""
    headers: int = 100
    head_seconds: float = 15.0
    """How long a client may take from the first byte of a request to the end of the headers.

    After it connects, a client also has this time to send the first byte of its first request.
    """
    body_bytes: int = 1024 * 1024
    """The most bytes of a body as the client sends it. In a chunked body, the chunk sizes and extensions count too."""
    body_seconds: float = 30.0
    """How long the client may take from the end of the headers to the end of the body. Time in which the server reads
    nothing does not count."""
    write_seconds: float = 60.0
    """How long a client may read nothing while the server has bytes of a response to send."""
    connections: int = 10_000
    connections_per_peer: int = 1_000
    """The most connections from one address that is not a trusted proxy."""
    trusted_proxies: Collection[str] = ()
    """Addresses or networks of proxies, whose connections belong to many clients. `*` stands for all addresses."""

    def is_trusted(self, peer: str) -> bool:
        return any(proxy in {"*", peer} or _is_inside(peer, proxy) for proxy in self.trusted_proxies)


Violation = Literal[
    "head_bytes", "headers", "head_seconds", "body_bytes", "body_seconds", "write_seconds", "connections", "peer"
]

_RESPONSES: dict[Violation, tuple[HTTPStatus, str]] = {
    "head_bytes": (HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large."),
    "headers": (HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "There are too many headers."),
    "head_seconds": (HTTPStatus.REQUEST_TIMEOUT, "The headers did not arrive in time."),
    "body_bytes": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large."),
    "body_seconds": (HTTPStatus.REQUEST_TIMEOUT, "The body did not arrive in time."),
}
"""The responses to violations. If a violation is not listed here, the connection is closed without a response."""


class _LimitExceeded(Exception):
    """Ends a callback of the parser. The parser then reports the request as invalid."""


@dataclass(slots=True)
class ConnectionGuard:
    """The connections of one server process: their number by peer, their deadlines, and how often a limit was hit."""

    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    violations: Counter[Violation] = field(default_factory=Counter)
    _connections: "set[BoundedProtocol]" = field(default_factory=set)
    _counts_by_peer: Counter[str] = field(default_factory=Counter)
    _timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: "BoundedProtocol", peer: str) -> Violation | None:
        """Counts a new connection. Returns the limit that it exceeds, or None if it may stay."""
        self._connections.add(connection)
        self._counts_by_peer[peer] += 1
        if self._timer is None:
            self._schedule(connection.loop)
        if len(self._connections) > self.limits.connections:
            return "connections"
        if self._counts_by_peer[peer] > self.limits.connections_per_peer and not self.limits.is_trusted(peer):
            return "peer"
        return None

    def remove(self, connection: "BoundedProtocol", peer: str) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        self._counts_by_peer[peer] -= 1
        if not self._counts_by_peer[peer]:
            del self._counts_by_peer[peer]

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(SWEEP_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in tuple(self._connections):
            connection.check_deadlines(now)
        self._timer = None
        if self._connections:
            self._schedule(loop)


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection that exceeds a limit. `_close` says when the client gets an error response first."""

    _peer = ""
    _head_bytes = 0
    """Bytes received since the last request ended, while a head is expected."""
    _body_bytes = 0
    """Bytes received since the head ended, while a body is expected."""
    _header_bytes = 0
    """Bytes of the names and values that the parser has found in this head."""
    _header_count = 0
    _receives_body = False
    _waits_since: float | None = None
    """When the wait for the rest of a head or body began. None while the client is not expected to send."""
    _unsent_since = 0.0
    """When the connection was last seen without unsent bytes of a response."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.guard: ConnectionGuard = app_state.setdefault(CONNECTION_GUARD_KEY, ConnectionGuard())
        self.limits = self.guard.limits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._peer = self.client[0] if self.client else ""
        self._waits_since = self.loop.time()
        _send_without_delay(transport)
        if violation := self.guard.add(self, self._peer):
            self._close(violation)

    def connection_lost(self, exc: Exception | None) -> None:
        self.guard.remove(self, self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Counts the bytes here, because the parser calls no method until a header or a chunk extension is complete."""
        if self._receives_body:
            self._body_bytes += len(data)
        else:
            self._head_bytes += len(data)
            if self._waits_since is None:
                self._waits_since = self.loop.time()
        super().data_received(data)
        if self._receives_body and self._body_bytes > self.limits.body_bytes:
            self._close("body_bytes")
        elif not self._receives_body and self._head_bytes > self.limits.head_bytes:
            self._close("head_bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = self._header_count = 0
        # `_close` responds to a head only if `_head_bytes` is not 0. Here `_head_bytes` is 0 if the beginning of this
        # request arrived together with the end of the previous request.
        self._head_bytes = self._head_bytes or 1
        self._waits_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        self._count_header_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_header_bytes(len(name) + len(value))
        self._header_count += 1
        if self._header_count > self.limits.headers:
            self._reject("headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._receives_body, self._body_bytes = True, 0
        self._waits_since = self.loop.time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._receives_body, self._head_bytes = False, 0
        self._waits_since = None
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def check_deadlines(self, now: float) -> None:
        """Closes the connection if its client has been too slow to send a request or to read a response."""
        if self.transport.get_write_buffer_size() == 0:
            self._unsent_since = now
        elif now - self._unsent_since > self.limits.write_seconds:
            self._close("write_seconds")
            return
        if self._waits_since is None:
            return
        if self.flow.read_paused or (self._is_responding() and not self._receives_body):
            self._waits_since = now
        elif self._receives_body and now - self._waits_since > self.limits.body_seconds:
            self._close("body_seconds")
        elif not self._receives_body and now - self._waits_since > self.limits.head_seconds:
            self._close("head_seconds")

    def _count_header_bytes(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > self.limits.head_bytes:
            self._reject("head_bytes")

    def _reject(self, violation: Violation) -> NoReturn:
        self._close(violation)
        raise _LimitExceeded

    def _close(self, violation: Violation) -> None:
        """Closes the connection.

        The response to the violation is sent first, if the client has begun a request, no other response has begun,
        and the violation is in `_RESPONSES`.
        """
        if self.transport.is_closing() and violation != "write_seconds":
            return
        self.guard.violations[violation] += 1
        response = _RESPONSES.get(violation)
        if response is None or self._has_started_response():
            self.transport.abort()
            return
        if self._head_bytes or self._receives_body:
            self.transport.write(_closing_response(*response))
        self.transport.close()

    def _is_responding(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _has_started_response(self) -> bool:
        return bool(self.pipeline) or (self._is_responding() and self.cycle.response_started)

    def _unsupported_upgrade_warning(self) -> None:
        """Logs nothing. The method of uvicorn logs the advice to install a WebSocket library."""


def _is_inside(peer: str, network: str) -> bool:
    try:
        return ip_address(peer) in ip_network(network, strict=False)
    except ValueError:
        return False


def _closing_response(status: HTTPStatus, text: str) -> bytes:
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
    return f"{head}content-length: {len(text)}\r\nconnection: close\r\n\r\n{text}".encode()


def _send_without_delay(transport: asyncio.BaseTransport) -> None:
    """Sets TCP_NODELAY, which asyncio sets only for sockets that were opened with an explicit protocol number.

    Without it, the second part of a response waits up to 40 ms for the acknowledgement of the first."""
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family in {socket.AF_INET, socket.AF_INET6}:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
