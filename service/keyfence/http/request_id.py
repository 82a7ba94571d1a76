"""The id under which a request is logged and can be asked about."""

import re
from random import getrandbits

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from keyfence.http.headers import header

HEADER = b"x-request-id"
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")


def request_id_of(scope: Scope) -> str:
    """The caller's own id if it is harmless, otherwise a new one; the same for the whole request."""
    known = scope.get("keyfence.request_id")
    if isinstance(known, str):
        return known
    offered = header(scope, HEADER) or ""
    scope["keyfence.request_id"] = request_id = offered if SAFE.fullmatch(offered) else _new()
    return request_id


def _new() -> str:
    """No secret, and so not worth asking the system: that lets other threads in, for every request that is refused."""
    return f"{getrandbits(128):032x}"


class RequestIds:
    """Gives every request its id and every answer the same one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request_id = request_id_of(scope)
        line = (HEADER, request_id.encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), line]
            await send(message)

        with bound_contextvars(request_id=request_id):
            return await self.app(scope, receive, send_with_id)
