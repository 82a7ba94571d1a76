"""Four ASGI layers: request id, access log, security headers, error boundary."""

import re
from random import getrandbits
from time import perf_counter

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from keyfence.graphql.errors import mask_internal_error
from keyfence.http.metrics import Metrics
from keyfence.http.response import error_response

NO_SNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")


class SecurityHeadersMiddleware:
    """Forbids browsers to guess content types, and caches to store responses that do not say that they may."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), NO_SNIFF]
                if all(name != NO_STORE[0] for name, _ in headers):
                    headers.append(NO_STORE)
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header; one that is sent several times is one list."""
    values = [value for key, value in scope["headers"] if key == name]
    return b", ".join(values).decode("latin-1") if values else None


HEADER = b"x-request-id"
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")


def request_id_of(scope: Scope) -> str:
    """The caller's own id if it is harmless, otherwise a new one; the same for the whole request."""
    known = scope.get("keyfence.request_id")
    if isinstance(known, str):
        return known
    offered = header(scope, HEADER) or ""
    scope["keyfence.request_id"] = request_id = offered if SAFE.fullmatch(offered) else _new()
    return request_id


def _new() -> str:
    """No secret, and so not worth asking the system: that lets other threads in, for every request that is refused."""
    return f"{getrandbits(128):032x}"


class RequestIdMiddleware:
    """Gives every request its id and every answer the same one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request_id = request_id_of(scope)
        line = (HEADER, request_id.encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), line]
            await send(message)

        with bound_contextvars(request_id=request_id):
            return await self.app(scope, receive, send_with_id)


CLIENT_CLOSED_REQUEST = 499
"""The caller went away before there was an answer."""

HUSHED = "keyfence.hushed"

_log = structlog.get_logger("keyfence.http")


def skip_access_log(scope: Scope) -> None:
    """No line for this request: refusing many must not cost much, and whoever refuses them tells of it once."""
    scope[HUSHED] = True


class AccessLogMiddleware:
    """Probes ask often and say nothing: their paths are `quiet`."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, quiet: frozenset[str] = frozenset()) -> None:
        self.app = app
        self.metrics = metrics
        self.quiet = quiet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.quiet:
            return await self.app(scope, receive, send)
        status, start = CLIENT_CLOSED_REQUEST, perf_counter()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            self._note(scope, status, perf_counter() - start)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self.metrics.request(status, seconds)
        if HUSHED in scope:
            return
        _log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 2),
            request_id=request_id_of(scope),
        )


class ErrorMiddleware:
    """Answers 500 without a word of what happened; that is in the log, under the request's id."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except ClientDisconnect:
            return None
        except Exception as error:
            answer = error_response(mask_internal_error(error, request_id_of(scope)), status=500)
            if started:
                raise
            await answer.send(send)
