"""`EngineClient`: a pool of HTTP/1.1 connections to the engine. `forward`: sends a caller's request to the engine."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httptools

from keyfence_iam.gate.http.messages import Headers, HttpRequest, HttpResponse

HOP_BY_HOP_HEADERS = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"trailer", b"upgrade"}
)
"""Response headers that are only valid for one connection. The gate does not pass them to its caller."""

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
"""The request headers that are forwarded. The engine could act on other headers, which the gate does not check."""


class EngineUnreachable(Exception):
    """The engine did not answer, or the gate cannot use the answer.

    If `may_be_executed` is true, the engine may have executed the call.
    """

    def __init__(self, reason: str, *, may_be_executed: bool = True) -> None:
        super().__init__(reason)
        self.may_be_executed = may_be_executed


class InvalidEngineUrl(ValueError):
    """A URL that is not of the form http://HOST:PORT or https://HOST:PORT."""


class EngineConnection(asyncio.Protocol):
    """One connection to the engine. After a timeout, an invalid response or a cancelled call, it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._response: asyncio.Future[HttpResponse] | None = None
        self._start_message()

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent on this connection."""
        return self._response is None and not self._must_close and not self._transport.is_closing()

    async def send(self, request: Sequence[bytes], timeout_seconds: float) -> HttpResponse:
        """Sends the parts of a request and waits for the response. Raises EngineUnreachable if there is none."""
        self._response = self._loop.create_future()
        self._transport.writelines(request)
        timer = self._loop.call_later(timeout_seconds, self._fail, f"no response within {timeout_seconds:g} seconds")
        try:
            return await self._response
        finally:
            timer.cancel()
            self._release()

    def close(self) -> None:
        self._must_close = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._must_close = cast("asyncio.Transport", transport), False

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the response is not HTTP: {error}")
        except httptools.HttpParserUpgrade:
            self._fail("the engine asked to switch to another protocol")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the engine closed the connection before the response was complete" if exc is None else str(exc))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name not in HOP_BY_HOP_HEADERS:
            self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Ends a message. A message with a status below 200 is informational, and the response follows it."""
        status = self._parser.get_status_code()
        if status >= 200:
            self._must_close = self._must_close or self._is_unrequested() or not self._parser.should_keep_alive()
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

    def _is_unrequested(self) -> bool:
        """Whether no caller waits for the response that arrived."""
        return self._response is None or self._response.done()

    def _fail(self, reason: str) -> None:
        self.close()
        if self._response is not None and not self._response.done():
            self._response.set_exception(EngineUnreachable(reason))

    def _release(self) -> None:
        """Frees the connection for the next request.

        If the caller was cancelled, its response may still arrive. The connection is closed, so that no other caller
        receives that response.
        """
        if self._response is not None and (not self._response.done() or self._response.cancelled()):
            self.close()
        self._response = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    host: str
    port: int
    uses_tls: bool = False

    @classmethod
    def parse(cls, url: str) -> "EngineAddress":
        """Returns the address in a URL of the form http://HOST:PORT or https://HOST:PORT. The port is optional.

        Raises InvalidEngineUrl if the URL has another form.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise InvalidEngineUrl(f"{url!r} is not the URL of an engine: {error}") from error
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
            raise InvalidEngineUrl(f"{url!r} is not the URL of an engine; write http://HOST:PORT")
        return cls(host=parts.hostname, port=port, uses_tls=parts.scheme == "https")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class EngineClient:
    """Sends requests to the engine, each of them once.

    A failed request is never repeated, because the engine may have executed it.
    """

    def __init__(
        self, url: str, *, max_connections: int = 64, connect_seconds: float = 5.0, response_seconds: float = 60.0
    ) -> None:
        self.address = EngineAddress.parse(url)
        self._connect_seconds, self._response_seconds = connect_seconds, response_seconds
        self._connection_slots = asyncio.Semaphore(max_connections)
        self._idle_connections: list[EngineConnection] = []

    async def post(self, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> HttpResponse:
        """Sends a request and returns the response. Raises EngineUnreachable if there is none.

        The header content-length is computed from `body`: the engine receives exactly the body that the gate checked.
        """
        request = (self._request_head(headers, len(body)), body)
        async with self._connection_slots:
            connection = self._find_idle_connection() or await self._connect()
            response = await connection.send(request, self._response_seconds)
            if connection.is_usable:
                self._idle_connections.append(connection)
            else:
                connection.close()
        return response

    def close(self) -> None:
        while self._idle_connections:
            self._idle_connections.pop().close()

    def _find_idle_connection(self) -> EngineConnection | None:
        while self._idle_connections:
            connection = self._idle_connections.pop()
            if connection.is_usable:
                return connection
        return None

    async def _connect(self) -> EngineConnection:
        loop, address = asyncio.get_running_loop(), self.address
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    EngineConnection, address.host, address.port, ssl=address.uses_tls or None
                )
        except (OSError, TimeoutError) as error:
            raise EngineUnreachable(
                f"{address} cannot be reached: {error or 'timed out'}", may_be_executed=False
            ) from error
        return connection

    def _request_head(self, headers: Iterable[tuple[bytes, bytes]], body_length: int) -> bytes:
        lines = [b"POST / HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n" % (str(self.address).encode(), body_length)]
        lines += [b"%s: %s\r\n" % header for header in headers]
        return b"".join((*lines, b"\r\n"))


async def forward(request: HttpRequest, engine: EngineClient) -> HttpResponse:
    headers = [header for header in request.headers if header[0] in FORWARDED_HEADERS]
    return await engine.post(headers, request.body)


def gate_headers(region: str, operation: str) -> Headers:
    """Returns the headers of a request that the gate itself makes.

    Engines do not verify the signature, but some of them read the region from it or require a date.
    """
    scope = f"keyfence-gate/20120810/{region}/dynamodb/aws4_request"
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"x-amz-target", f"DynamoDB_20120810.{operation}".encode()),
        (b"x-amz-date", b"20120810T000000Z"),
        (b"authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0".encode()),
    ]
