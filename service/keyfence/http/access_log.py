"""One line and one count for each request."""

from time import perf_counter

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keyfence.http.metrics import Metrics
from keyfence.http.request_id import request_id_of

GONE = 499
"""The caller went away before there was an answer."""

HUSHED = "keyfence.hushed"

_log = structlog.get_logger("keyfence.http")


def hush(scope: Scope) -> None:
    """No line for this request: refusing many must not cost much, and whoever refuses them tells of it once."""
    scope[HUSHED] = True


class AccessLog:
    """Probes ask often and say nothing: their paths are `quiet`."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, quiet: frozenset[str] = frozenset()) -> None:
        self.app = app
        self.metrics = metrics
        self.quiet = quiet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.quiet:
            return await self.app(scope, receive, send)
        status, start = GONE, perf_counter()

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
