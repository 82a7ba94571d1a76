"""What the machines around the service ask: is it up, is it ready, how is it doing."""

from collections.abc import Awaitable, Callable

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from keyfence.http.metrics import CONTENT_TYPE, Metrics

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
