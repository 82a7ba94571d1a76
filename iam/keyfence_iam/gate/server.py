"""uvicorn for the gate: in any thread, with bounded headers and connections that the application can abort."""

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
    """Raised in a callback of the parser, which then reports an invalid request: status 400, connection closed."""


class GateProtocol(HttpToolsProtocol):
    """Bounds the size of headers, and lets the application close a connection without a response."""

    _header_bytes = 0
    """Size of the headers of this request so far."""
    _unparsed_bytes = 0.0
    """Bytes received since the last request ended; minus infinity while a body is received."""

    def data_received(self, data: bytes) -> None:
        """Counts bytes itself: the parser buffers a header that does not end, without any callback."""
        self._unparsed_bytes += len(data)
        super().data_received(data)
        if self._unparsed_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self.scope["extensions"] = {ABORT_CONNECTION: {"now": self.transport.abort}}

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEADER_BYTES:
            raise HeadersTooLarge
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unparsed_bytes = -math.inf
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unparsed_bytes = 0.0
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Overrides uvicorn's advice to install a WebSocket library: the gate speaks HTTP only."""


class GateServer(uvicorn.Server):
    """Sets `ready` when it accepts connections."""

    def __init__(self, app: GateApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
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
        self._app = app
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets=sockets)
        self._app.close()
