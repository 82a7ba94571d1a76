"""uvicorn as the gate runs it: on an open socket, in whichever thread, with callers that can be hung up on."""

import socket
import threading

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from iam.gate.application import HANG_UP, Application

SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 75


class Protocol(HttpToolsProtocol):
    """Lets the application end a connection without an answer, which ASGI has no word for."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {HANG_UP: {"now": self.transport.abort}}


class Server(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, application: Application) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=Protocol,
                loop="auto",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self._application = application
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets=sockets)
        self._application.close()
