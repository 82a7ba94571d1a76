"""uvicorn as the gate runs it: on an open socket, in whichever thread, with callers that can be hung up on."""

import math
import socket
import threading

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keyfence_iam.gate.app import ABORT_CONNECTION, GateApp

SHUTDOWN_SECONDS = 3
KEEP_ALIVE_SECONDS = 75
MAX_HEADER_BYTES = 64 * 1024


class HeadersTooLarge(Exception):
    """To the parser it is an invalid request: that is answered with 400, and the connection is closed."""


class GateProtocol(HttpToolsProtocol):
    """Lets the application end a connection without an answer, which ASGI has no word for, and bounds headers."""

    _kept = 0
    """Bytes of the headers of this request."""
    _unfinished = 0.0
    """Bytes that came since the last request ended; of a body they are not counted."""

    def data_received(self, data: bytes) -> None:
        """What belongs to a header that does not end is kept by the parser, which tells nobody of it."""
        self._unfinished += len(data)
        super().data_received(data)
        if self._unfinished > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._kept = 0
        self.scope["extensions"] = {ABORT_CONNECTION: {"now": self.transport.abort}}

    def on_header(self, name: bytes, value: bytes) -> None:
        self._kept += len(name) + len(value)
        if self._kept > MAX_HEADER_BYTES:
            raise HeadersTooLarge
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unfinished = -math.inf
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unfinished = 0.0
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """No protocol but HTTP is spoken here, and nothing needs to be installed for another."""


class GateServer(uvicorn.Server):
    """Says when it is ready."""

    def __init__(self, application: GateApp) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=GateProtocol,
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
