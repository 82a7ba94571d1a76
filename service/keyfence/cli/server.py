"""The development server: it says when it is ready, and ends when its engine does."""

import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from keyfence.local.engines.engine import Engine, EngineFailed

SHUTDOWN_SECONDS = 3


class DevelopmentServer(uvicorn.Server):
    """uvicorn on a socket that is already open."""

    def __init__(self, application: ASGIApp, engine: Engine, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self.engine = engine
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self.engine.failure() is not None

    async def run_on(self, listener: socket.socket) -> None:
        await self.serve(sockets=[listener])
        if failure := self.engine.failure():
            raise EngineFailed(failure)
