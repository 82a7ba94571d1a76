"""`EngineClient`: a pool of HTTP/1.1 connections to the engine. `forward`: sends a request on to it."""

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
"""No other header is forwarded: an engine could act on one that no policy has decided on."""


class EngineUnreachable(Exception):
    """The engine did not answer. If `sent` is true, it may have executed the call."""

    def __init__(self, reason: str, *, sent: bool = True) -> None:
        super().__init__(reason)
        self.sent = sent


class InvalidEngineUrl(ValueError):
    """A URL that cannot be that of an engine."""


class EngineConnection(asyncio.Protocol):
    """One connection to the engine. After any irregularity it is closed and not used again."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._response: asyncio.Future[HttpResponse] | None = None
        self._start_message()

    @property
    def usable(self) -> bool:
        return self._response is None and not self._unusable and not self._transport.is_closing()

    async def send(self, request: Sequence[bytes], seconds: float) -> HttpResponse:
        self._response = self._loop.create_future()
        self._transport.writelines(request)
        timer = self._loop.call_later(seconds, self._fail, f"no response within {seconds:g} seconds")
        try:
            return await self._response
        finally:
            timer.cancel()
            self._release()

    def close(self) -> None:
        self._unusable = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._unusable = cast("asyncio.Transport", transport), False

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"its response is not HTTP: {error}")
        except httptools.HttpParserUpgrade:
            self._fail("it wants to switch to another protocol")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("it closed the connection before its response was complete" if exc is None else str(exc))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name not in HOP_BY_HOP:
            self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        """A status 1xx is informational: the response follows."""
        status = self._parser.get_status_code()
        if status >= 200:
            self._unusable = self._unusable or self._unrequested() or not self._parser.should_keep_alive()
            self._set_response(status)
        self._start_message()

    def _start_message(self) -> None:
        self._headers: Headers = []
        self._body: list[bytes] = []

    def _set_response(self, status: int) -> None:
        body = b"".join(self._body)
        if not any(name == b"content-length" for name, _ in self._headers):
            self._headers.append((b"content-length", b"%d" % len(body)))
        if self._response is not None and not self._response.done():
            self._response.set_result(HttpResponse(status, self._headers, body))

    def _unrequested(self) -> bool:
        return self._response is None or self._response.done()

    def _fail(self, reason: str) -> None:
        self.close()
        if self._response is not None and not self._response.done():
            self._response.set_exception(EngineUnreachable(reason))

    def _release(self) -> None:
        """If the caller was cancelled, its response may still arrive. No other caller may receive it."""
        if self._response is not None and (not self._response.done() or self._response.cancelled()):
            self.close()
        self._response = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """Host and port of the engine."""

    host: str
    port: int
    secure: bool = False

    @classmethod
    def parse(cls, url: str) -> "EngineAddress":
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
    """Sends each request once. A request that may have reached the engine is never repeated."""

    def __init__(
        self, url: str, *, connections: int = 64, connect_seconds: float = 5.0, response_seconds: float = 60.0
    ) -> None:
        self.address = EngineAddress.parse(url)
        self._connect_seconds, self._response_seconds = connect_seconds, response_seconds
        self._free_connections = asyncio.Semaphore(connections)
        self._idle: list[EngineConnection] = []

    async def post(self, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> HttpResponse:
        """Writes its own content-length: exactly the body that was checked is sent, however the client sent it."""
        request = (self._head(headers, len(body)), body)
        async with self._free_connections:
            connection = self._idle_connection() or await self._connect()
            response = await connection.send(request, self._response_seconds)
            if connection.usable:
                self._idle.append(connection)
            else:
                connection.close()
        return response

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _idle_connection(self) -> EngineConnection | None:
        while self._idle:
            if (connection := self._idle.pop()).usable:
                return connection
        return None

    async def _connect(self) -> EngineConnection:
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


async def forward(request: HttpRequest, engine: EngineClient) -> HttpResponse:
    return await engine.post([header for header in request.headers if header[0] in FORWARDED_HEADERS], request.body)


def gate_headers(region: str, operation: str) -> Headers:
    """Engines check no signature, but some of them read the region from it or require a date."""
    scope = f"keyfence-gate/20120810/{region}/dynamodb/aws4_request"
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"x-amz-target", f"DynamoDB_20120810.{operation}".encode()),
        (b"x-amz-date", b"20120810T000000Z"),
        (b"authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0".encode()),
    ]
