"""Starlette app: paths, middleware order, `/healthz`, `/readyz`, `/metrics`."""

from collections.abc import Awaitable, Callable, Mapping

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan

from keyfence.errors import Code
from keyfence.http.metrics import CONTENT_TYPE, Metrics
from keyfence.http.middleware import (
    AccessLogMiddleware,
    ErrorMiddleware,
    RequestIdMiddleware,
    SecurityHeadersMiddleware,
)
from keyfence.http.response import encode_json

Ready = Callable[[], Awaitable[str | None]]
"""Answers None when requests can be served, otherwise the reason why not, for everyone to read."""

_log = structlog.get_logger("keyfence.http")


def probes(*, ready: Ready, metrics: Metrics) -> list[Route]:
    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        reason = await _reason(ready)
        return PlainTextResponse(f"{reason or 'ready'}\n", status_code=503 if reason else 200)

    async def numbers(_: Request) -> Response:
        return Response(metrics.render(), headers={"content-type": CONTENT_TYPE})

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", numbers)]


async def _reason(ready: Ready) -> str | None:
    try:
        return await ready()
    except Exception as error:  # noqa: BLE001 - whatever fails here, the answer is no
        _log.error("readiness check failed", exc_info=error)
        return "the readiness check failed"


def build_app(
    *,
    endpoints: Mapping[str, ASGIApp],
    ready: Ready,
    metrics: Metrics,
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """The application: GraphQL endpoints by path, beside the probes."""
    asked = probes(ready=ready, metrics=metrics)
    app = Starlette(
        routes=[*(Route(path, endpoint) for path, endpoint in endpoints.items()), *asked],
        middleware=[
            Middleware(RequestIdMiddleware),
            Middleware(AccessLogMiddleware, metrics=metrics, quiet=frozenset(route.path for route in asked)),
            Middleware(SecurityHeadersMiddleware),
            Middleware(ErrorMiddleware),
        ],
        exception_handlers={HTTPException: _as_json},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _as_json(_: Request, error: Exception) -> Response:
    """For what the router refuses: unknown paths, and methods that a probe does not know."""
    assert isinstance(error, HTTPException)
    code = Code.NOT_FOUND if error.status_code == 404 else Code.BAD_USER_INPUT
    body = {"errors": [{"message": error.detail, "extensions": {"code": code.value}}]}
    headers = {**(error.headers or {}), "content-type": "application/json; charset=utf-8"}
    return Response(encode_json(body), error.status_code, headers)
