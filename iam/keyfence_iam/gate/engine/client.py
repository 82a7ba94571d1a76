"""HTTP/1.1 connection pool; which headers are forwarded."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httptools

from keyfence_iam.gate.http.messages import Headers, HttpRequest, HttpResponse

HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"trailer", b"upgrade"}
)


class EngineUnreachable(Exception):
    """The engine did not answer; whether it acted is not known once `sent` is true."""

    def __init__(self, why: str, *, sent: bool = True) -> None:
        super().__init__(why)
        self.sent = sent


class EngineConnection(asyncio.Protocol):
    """The engine's answers arrive here; a connection that saw anything odd is never used again."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[HttpResponse] | None = None
        self._begin()

    @property
    def usable(self) -> bool:
        return self._waiting is None and not self._spent and not self._transport.is_closing()

    async def send(self, request: Sequence[bytes], patience: float) -> HttpResponse:
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
            self._waiting.set_result(HttpResponse(status, self._headers, body))

    def _unasked(self) -> bool:
        return self._waiting is None or self._waiting.done()

    def _fail(self, why: str) -> None:
        self.close()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(EngineUnreachable(why))

    def _release(self) -> None:
        """A caller that gave up leaves an answer on its way: nobody else may get it."""
        if self._waiting is not None and (not self._waiting.done() or self._waiting.cancelled()):
            self.close()
        self._waiting = None


class InvalidEngineUrl(ValueError):
    """A URL at which no engine can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """Where the engine listens."""

    host: str
    port: int
    secure: bool = False

    @classmethod
    def of(cls, url: str) -> "EngineAddress":
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise InvalidEngineUrl(f"{url!r} is not the URL of an engine: {error}") from error
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
            raise InvalidEngineUrl(f"{url!r} is not the URL of an engine: http://HOST:PORT is")
        return cls(host=parts.hostname, port=port, secure=parts.scheme == "https")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class EngineClient:
    """Sends each request once: a request that may have reached the engine is never repeated here."""

    def __init__(
        self, url: str, *, connections: int = 64, connect_seconds: float = 5.0, answer_seconds: float = 60.0
    ) -> None:
        self.address = EngineAddress.of(url)
        self._connect_seconds, self._answer_seconds = connect_seconds, answer_seconds
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[EngineConnection] = []

    async def post(self, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> HttpResponse:
        """A length of our own: however the body came in, what goes out is exactly what was examined."""
        request = (self._head(headers, len(body)), body)
        async with self._slots:
            connection = self._reused() or await self._opened()
            answer = await connection.send(request, self._answer_seconds)
            if connection.usable:
                self._idle.append(connection)
            else:
                connection.close()
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _reused(self) -> EngineConnection | None:
        while self._idle:
            if (connection := self._idle.pop()).usable:
                return connection
        return None

    async def _opened(self) -> EngineConnection:
        loop, address = asyncio.get_running_loop(), self.address
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    EngineConnection, address.host, address.port, ssl=address.secure or None
                )
        except (OSError, TimeoutError) as error:
            raise EngineUnreachable(f"{address} cannot be reached: {error or 'timed out'}", sent=False) from error
        return connection

    def _head(self, headers: Iterable[tuple[bytes, bytes]], length: int) -> bytes:
        lines = [b"POST / HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n" % (str(self.address).encode(), length)]
        lines += [b"%s: %s\r\n" % header for header in headers]
        return b"".join((*lines, b"\r\n"))


FORWARDED_HEADERS = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"amz-sdk-invocation-id",
        b"amz-sdk-request",
        b"authorization",
        b"content-type",
        b"date",
        b"user-agent",
        b"x-amz-api-version",
        b"x-amz-content-sha256",
        b"x-amz-date",
        b"x-amz-security-token",
        b"x-amz-target",
        b"x-amz-user-agent",
        b"x-amzn-trace-id",
    }
)
"""Named one by one: an engine could take any other for an instruction that nobody has judged."""


async def forward(request: HttpRequest, upstream: EngineClient) -> HttpResponse:
    return await upstream.post([header for header in request.headers if header[0] in FORWARDED_HEADERS], request.body)
