"""The ASGI middleware around all routes, and its order: request id, access log, security headers, errors."""

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
"""A request id that the caller sends is used only if it matches. Such an id is safe in a header and in a log."""

NO_SNIFF_HEADER = (b"x-content-type-options", b"nosniff")
NO_STORE_HEADER = (b"cache-control", b"no-store")

CLIENT_CLOSED_REQUEST = 499
"""The status in the log if the caller closed the connection before the response. nginx uses the same number."""

SKIP_ACCESS_LOG = "keyfence.skip_access_log"
"""The key that `skip_access_log` sets in the ASGI scope."""

log = structlog.get_logger(__name__)


def header(scope: Scope, name: bytes) -> str | None:
    """Returns the value of a header, or None. The values of a header that is sent more than once are joined."""
    value: bytes | None = None
    for header_name, next_value in scope["headers"]:
        if header_name == name:
            value = next_value if value is None else value + b", " + next_value
    return None if value is None else value.decode("latin-1")


def request_id_of(scope: Scope) -> str:
    """Returns the id of the request: the caller's id if it is safe, otherwise a random id."""
    assigned_id = scope.get("keyfence.request_id")
    if isinstance(assigned_id, str):
        return assigned_id
    callers_id = header(scope, REQUEST_ID_HEADER) or ""
    request_id = callers_id if REQUEST_ID.fullmatch(callers_id) else _random_id()
    scope["keyfence.request_id"] = request_id
    return request_id


def skip_access_log(scope: Scope) -> None:
    """Keeps this request out of the access log. It is called for requests that a quota refuses. A refusal must be
    cheap, and the event `tenant_over_quota` is logged once for many refusals."""
    scope[SKIP_ACCESS_LOG] = True


class RequestIdMiddleware:
    """Gives each request an id. The response and all log lines of the request contain the id."""

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
    """Counts each request and logs one line about it. Requests to `unlogged_paths` are neither counted nor logged."""

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
        self.metrics.count_request(status, seconds)
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
    """Tells browsers not to guess content types. Tells caches not to store a response, unless it has a Cache-Control
    header of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), NO_SNIFF_HEADER]
                if NO_STORE_HEADER[0] not in dict(headers):
                    headers.append(NO_STORE_HEADER)
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


class ErrorMiddleware:
    """Answers an unexpected exception with status 500. The response contains the request id, by which the exception
    can be found in the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        has_response_started = False

        async def send_and_note_start(message: Message) -> None:
            nonlocal has_response_started
            has_response_started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_start)
        except ClientDisconnect:
            return None  # The caller has closed the connection, so nobody can receive a response.
        except Exception as error:
            response = error_response(mask_internal_error(error, request_id_of(scope)), status=500)
            if has_response_started:
                raise
            await response.send(send)


def middleware_in_order(*, metrics: Metrics, unlogged_paths: frozenset[str]) -> list[Middleware]:
    """Returns the middleware from the outermost to the innermost.

    The request id comes first, because the log lines of all others contain it. The errors come last, so that a response
    with status 500 also gets the headers of the others and a line in the access log."""
    return [
        Middleware(RequestIdMiddleware),
        Middleware(AccessLogMiddleware, metrics=metrics, unlogged_paths=unlogged_paths),
        Middleware(SecurityHeadersMiddleware),
        Middleware(ErrorMiddleware),
    ]


def _random_id() -> str:
    """Returns an id from Python's own random generator, because the id is not a secret. A call to the operating system
    would release the interpreter lock, and this request would wait until other threads give it back."""
    return f"{getrandbits(128):032x}"
