"""The Starlette application: the routes of the GraphQL endpoints, the probes, the metrics and the files of GraphiQL."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan

from keyfence.errors import Code
from keyfence.http.metrics import CONTENT_TYPE, Metrics
from keyfence.http.middleware import middleware_in_order
from keyfence.http.response import encode_json

CheckReady = Callable[[], Awaitable[None]]
"""A function that raises NotReady or another exception if the service cannot serve requests now."""

log = structlog.get_logger(__name__)


class NotReady(Exception):
    """The service cannot serve requests for a known reason, which is already in the log.

    The text is the answer of `/readyz`, which needs no token. So it must not contain secrets."""


def probe_routes(*, check_ready: CheckReady, metrics: Metrics) -> list[Route]:
    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        try:
            await check_ready()
        except NotReady as error:
            return PlainTextResponse(f"not ready: {error}\n", status_code=503)
        except Exception as error:
            log.exception("readiness_check_failed", exc_info=error)
            return PlainTextResponse("the readiness check failed\n", status_code=503)
        return PlainTextResponse("ready\n")

    async def metrics_text(_: Request) -> Response:
        return Response(metrics.render(), headers={"content-type": CONTENT_TYPE})

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics_text)]


def build_app(
    *,
    endpoints: Mapping[str, ASGIApp],
    check_ready: CheckReady,
    metrics: Metrics,
    more_routes: Iterable[Route] = (),
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """Returns the application. `endpoints` maps a path to its GraphQL endpoint."""
    probes = probe_routes(check_ready=check_ready, metrics=metrics)
    app = Starlette(
        routes=[*(Route(path, endpoint) for path, endpoint in endpoints.items()), *probes, *more_routes],
        middleware=middleware_in_order(metrics=metrics, unlogged_paths=frozenset(route.path for route in probes)),
        exception_handlers={HTTPException: _render_router_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


def _render_router_error(_: Request, error: Exception) -> Response:
    """Renders errors of the router as JSON: an unknown path, or a method that a probe does not serve."""
    assert isinstance(error, HTTPException)
    code = Code.NOT_FOUND if error.status_code == 404 else Code.BAD_USER_INPUT
    body = {"errors": [{"message": error.detail, "extensions": {"code": code.value}}]}
    headers = {**(error.headers or {}), "content-type": "application/json; charset=utf-8"}
    return Response(encode_json(body), error.status_code, headers)
