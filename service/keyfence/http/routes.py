"""The paths of the service and what every request to them passes through."""

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan

from keyfence.errors import Code
from keyfence.http.access_log import AccessLog
from keyfence.http.error_boundary import ErrorBoundary
from keyfence.http.metrics import Metrics
from keyfence.http.probes import Ready, probes
from keyfence.http.reply import encoded
from keyfence.http.request_id import RequestIds
from keyfence.http.security_headers import SecurityHeaders


def routes(
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
            Middleware(RequestIds),
            Middleware(AccessLog, metrics=metrics, quiet=frozenset(route.path for route in asked)),
            Middleware(SecurityHeaders),
            Middleware(ErrorBoundary),
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
    return Response(encoded(body), error.status_code, headers)
