"""`GateServer`: uvicorn in a thread, with a limit on headers and with connections that the application can abort."""

import math
import socket
import threading

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keyfence_iam.gate.app import ABORT_CONNECTION, GateApp

SHUTDOWN_SECONDS = 3
"""How long a stopping server waits for the calls in progress."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open. SDKs reuse idle connections for about a minute."""
MAX_HEADER_BYTES = 64 * 1024
"""The size of all headers of a request. A session token alone may have 4 KiB."""


class HeadersTooLarge(Exception):
    """The headers of a request are larger than MAX_HEADER_BYTES.

    It is raised in a callback of the HTTP parser. uvicorn then answers with status 400 and closes the connection.
    """


class GateProtocol(HttpToolsProtocol):
    """Limits the size of headers, and lets the application close a connection without a response."""

    _header_bytes = 0
    """The size of the headers of the current request that the parser has reported so far."""
    _unparsed_bytes = 0.0
    """The bytes received since the last request ended. Minus infinity while a body is received: bodies do not count."""

    def data_received(self, data: bytes) -> None:
        """Counts the received bytes, because the parser buffers an unfinished header without calling `on_header`."""
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
        """Suppresses uvicorn's advice to install a WebSocket library. The gate has no WebSockets."""


class GateServer(uvicorn.Server):
    """The HTTP server of the gate. It sets `ready` when it accepts connections."""

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
