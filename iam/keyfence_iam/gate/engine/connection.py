"""One HTTP/1.1 connection to the engine, with one request on it at a time."""

import asyncio
from collections.abc import Sequence
from typing import cast

import httptools

from keyfence_iam.gate.answer import Answer, Headers

HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"trailer", b"upgrade"}
)


class EngineLost(Exception):
    """The engine did not answer; whether it acted is not known once `sent` is true."""

    def __init__(self, why: str, *, sent: bool = True) -> None:
        super().__init__(why)
        self.sent = sent


class Connection(asyncio.Protocol):
    """The engine's answers arrive here; a connection that saw anything odd is never used again."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[Answer] | None = None
        self._begin()

    @property
    def usable(self) -> bool:
        return self._waiting is None and not self._spent and not self._transport.is_closing()

    async def send(self, request: Sequence[bytes], patience: float) -> Answer:
        self._waiting = self._loop.create_future()
        self._transport.writelines(request)
        timer = self._loop.call_later(patience, self._fail, f"no answer within {patience:g} seconds")
        try:
            return await self._waiting
        finally:
            timer.cancel()
            self._release()

    def close(self) -> None:
        self._spent = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._spent = cast("asyncio.Transport", transport), False

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"its answer is not HTTP: {error}")
        except httptools.HttpParserUpgrade:
            self._fail("it wants to speak another protocol")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("it closed the connection before its answer was complete" if exc is None else str(exc))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name not in HOP_BY_HOP:
            self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        """A 1xx announces the answer and is none itself."""
        status = self._parser.get_status_code()
        if status >= 200:
            self._spent = self._spent or self._unasked() or not self._parser.should_keep_alive()
            self._answer(status)
        self._begin()

    def _begin(self) -> None:
        self._headers: Headers = []
        self._body: list[bytes] = []

    def _answer(self, status: int) -> None:
        body = b"".join(self._body)
        if not any(name == b"content-length" for name, _ in self._headers):
            self._headers.append((b"content-length", b"%d" % len(body)))
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(Answer(status, self._headers, body))

    def _unasked(self) -> bool:
        return self._waiting is None or self._waiting.done()

    def _fail(self, why: str) -> None:
        self.close()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(EngineLost(why))

    def _release(self) -> None:
        """A caller that gave up leaves an answer on its way: nobody else may get it."""
        if self._waiting is not None and (not self._waiting.done() or self._waiting.cancelled()):
            self.close()
        self._waiting = None
