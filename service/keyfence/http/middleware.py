"""The four ASGI layers around the endpoints: request id, access log, security headers, error boundary."""

import re
from random import getrandbits
from time import perf_counter

import structlog
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from keyfence.graphql.error_masking import mask_internal_error
from keyfence.http.metrics import Metrics
from keyfence.http.response import error_response

REQUEST_ID_HEADER = b"x-request-id"
REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")
"""Ids of callers that are safe in a header and in a log."""

NO_SNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")

CLIENT_CLOSED_REQUEST = 499
"""The status that is logged if the caller closed the connection before there was a response."""

SKIP_ACCESS_LOG = "keyfence.skip_access_log"

log = structlog.get_logger(__name__)


def header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header. The values of a header that is sent more than once are joined by commas."""
    value: bytes | None = None
    for key, other in scope["headers"]:
        if key == name:
            value = other if value is None else value + b", " + other
    return None if value is None else value.decode("latin-1")


def request_id_of(scope: Scope) -> str:
    """Return the id of the request: the caller's own if it is safe, otherwise a random one."""
    known = scope.get("keyfence.request_id")
    if isinstance(known, str):
        return known
    offered = header(scope, REQUEST_ID_HEADER) or ""
    scope["keyfence.request_id"] = request_id = offered if REQUEST_ID.fullmatch(offered) else _random_id()
    return request_id


def skip_access_log(scope: Scope) -> None:
    """Log no line for this request. A refusal must be cheap; the reason is logged once for many refusals."""
    scope[SKIP_ACCESS_LOG] = True


class RequestIdMiddleware:
    """Gives each request an id, which the response and all log lines of the request carry."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request_id = request_id_of(scope)
        id_header = (REQUEST_ID_HEADER, request_id.encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), id_header]
            await send(message)

        with bound_contextvars(request_id=request_id):
            return await self.app(scope, receive, send_with_id)


class AccessLogMiddleware:
    """Counts each request, and logs one line for it. Requests to `unlogged_paths` are neither counted nor logged."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, unlogged_paths: frozenset[str] = frozenset()) -> None:
        self.app = app
        self.metrics = metrics
        self.unlogged_paths = unlogged_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.unlogged_paths:
            return await self.app(scope, receive, send)
        status, start = CLIENT_CLOSED_REQUEST, perf_counter()

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_status)
        finally:
            self._log(scope, status, perf_counter() - start)

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        self.metrics.request(status, seconds)
        if SKIP_ACCESS_LOG in scope:
            return
        log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=request_id_of(scope),
        )


class SecurityHeadersMiddleware:
    """Forbids browsers to guess content types, and caches to store responses that do not say that they may."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), NO_SNIFF]
                if NO_STORE[0] not in dict(headers):
                    headers.append(NO_STORE)
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


class ErrorMiddleware:
    """Answers 500 to an unexpected exception. The response says nothing of it; the log has it with the request id."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def send_and_note_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_start)
        except ClientDisconnect:
            return None
        except Exception as error:
            response = error_response(mask_internal_error(error, request_id_of(scope)), status=500)
            if started:
                raise
            await response.send(send)


def middleware_in_order(*, metrics: Metrics, unlogged_paths: frozenset[str]) -> list[Middleware]:
    """Returns the middleware from the outermost to the innermost.

    The request id comes first, because all others log it. The errors come last, because a response with status 500
    needs the headers of all others and a line in the access log."""
    return [
        Middleware(RequestIdMiddleware),
        Middleware(AccessLogMiddleware, metrics=metrics, unlogged_paths=unlogged_paths),
        Middleware(SecurityHeadersMiddleware),
        Middleware(ErrorMiddleware),
    ]


def _random_id() -> str:
    """The id is no secret, so it does not need the system's randomness, for which other threads would be let in."""
    return f"{getrandbits(128):032x}"
