"""`HttpConnection`: one HTTP/1.1 connection in the event loop, which carries one request at a time."""

import asyncio
import select
import socket
from collections.abc import Callable
from typing import NamedTuple, NoReturn, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_HEAD_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The largest answer that is read, with its head. DynamoDB returns 16 MB of items at most. As JSON they are larger."""


class HttpAnswer(NamedTuple):
    """A complete answer."""

    status: int
    body: bytes
    checksum: bytes | None
    """The value of the header x-amz-crc32."""


class ConnectionFailed(Exception):
    """Raised if no complete answer arrived. DynamoDB may have executed the request or not."""


class ConnectionClosedUnanswered(ConnectionFailed):
    """The server closed the connection before it sent the first byte of an answer."""


class AnswerTooLarge(ConnectionFailed):
    """The answer is larger than MAX_ANSWER_BYTES, or its head is larger than MAX_HEAD_BYTES."""


class HttpConnection(asyncio.Protocol):
    """A connection on which each answer belongs to the request that was sent last.

    The connection is aborted after a timeout, a cancelled call, bytes that are not HTTP, or bytes that no request asked
    for. Otherwise the next call could get the answer to an earlier call, perhaps of another tenant."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: "Callable[[HttpConnection], None]") -> None:
        self._loop = loop
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll()
        self.opened_at = loop.time()
        self._clear()

    def _clear(self) -> None:
        """Forgets everything about the last request and its answer."""
        self._parser: HttpResponseParser | None = None
        """Reads the answer to the request that was sent. None while no request is sent."""
        self._ended: asyncio.Future[None] | None = None
        """Done when the answer is complete or has failed."""
        self._failure: ConnectionFailed | None = None
        self._received_bytes = 0
        self._has_head = False
        self._has_answer = False
        self._keeps_alive = False
        self._status = 0
        self._checksum: bytes | None = None
        self._body: list[bytes] = []

    async def exchange(self, request: bytes, timeout_seconds: float) -> HttpAnswer:
        """Sends a request and returns its answer. Raises ConnectionFailed if the answer is not complete in time."""
        if self._parser is not None or self._transport is None:
            raise RuntimeError("a connection carries one request at a time")
        self._parser = HttpResponseParser(self)
        self._ended = self._loop.create_future()
        timer = self._loop.call_later(timeout_seconds, self._fail, ConnectionFailed("ReadTimeout"))
        try:
            self._transport.write(request)
            await self._ended
            return self._answer()
        except BaseException:
            self.abort()
            raise
        finally:
            timer.cancel()
            self._clear()

    def _answer(self) -> HttpAnswer:
        """Returns the complete answer. Raises `_failure` if the exchange has failed."""
        if self._failure:
            raise self._failure
        if not self._keeps_alive:
            self.abort()
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        return HttpAnswer(self._status, body, self._checksum)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def can_be_used(self) -> bool:
        """Whether the next request can be sent on this connection: it is open, idle, and has nothing to read.

        An idle connection with something to read was closed by the server, or has bytes that nobody asked for. The
        event loop may not have seen them yet."""
        return self.is_open and self._parser is None and not self._poll.poll(0)

    def abort(self) -> None:
        """Closes the connection now, without sending the rest of a request."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._poll.register(sock.fileno(), select.POLLIN)

    def connection_lost(self, _: Exception | None) -> None:
        if self._received_bytes:
            self._fail(ConnectionFailed("the connection was closed within the answer"))
        else:
            self._fail(ConnectionClosedUnanswered("the connection was closed before the answer"))
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._failure:
            self.abort()
            return
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail(ConnectionFailed("the answer is not HTTP"))
            return
        if self._has_answer:
            self._end()
        elif self._received_bytes > (MAX_ANSWER_BYTES if self._has_head else MAX_HEAD_BYTES):
            self._fail(AnswerTooLarge(f"the answer has more than {MAX_ANSWER_BYTES} bytes"))

    def _fail(self, failure: ConnectionFailed) -> None:
        """Ends the exchange with this failure, unless it has already ended, and aborts the connection."""
        if self._ended is not None and not self._ended.done():
            self._failure = failure
            self._end()
        self.abort()

    def _end(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    # The methods below are called by the parser. An exception in them is a HttpParserError of `feed_data`.

    def on_message_begin(self) -> None:
        if self._has_answer:
            _refuse("bytes after the answer")
        self._has_head, self._checksum = False, None

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-amz-crc32":
            self._checksum = value

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Ends the answer. An interim answer, such as 100 Continue, is ignored: the real answer follows it."""
        if self._parser is None:
            _refuse("no request was sent")
        status = self._parser.get_status_code()
        if status >= 200:
            self._status, self._keeps_alive, self._has_answer = status, self._parser.should_keep_alive(), True


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)
