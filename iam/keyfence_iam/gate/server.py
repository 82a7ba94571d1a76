"""`GateServer`: a uvicorn server with limits for clients, and with connections that the application can abort."""

import socket
import threading

import uvicorn

from keyfence_iam.gate.app import ABORT_CONNECTION, GateApp
from keyfence_iam.gate.http.messages import MAX_BODY_BYTES
from keyfence_iam.http_connection_limits import CONNECTION_GUARD_KEY, BoundedProtocol, ConnectionGuard, ConnectionLimits

SHUTDOWN_SECONDS = 3
"""How long a stopping server waits for the calls in progress."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open. SDKs reuse idle connections for about a minute."""
LIMITS = ConnectionLimits(body_bytes=MAX_BODY_BYTES + 1024 * 1024, body_seconds=60.0, connections_per_peer=10_000)
"""The limit on bodies is a megabyte higher than the limit of the application. So the application, and not this limit,
rejects most bodies that are too large, and its response has the error of AWS.
"""


class GateProtocol(BoundedProtocol):
    """Lets the application close a connection without a response."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {ABORT_CONNECTION: {"now": self.transport.abort}}


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
        self.lifespan.state[CONNECTION_GUARD_KEY] = ConnectionGuard(LIMITS)
        await super().startup(sockets=sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets=sockets)
        self._app.close()
