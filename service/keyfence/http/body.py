"""The body of a request, as far as it may be read."""

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from keyfence.http.headers import header
from keyfence.http.refusal import HttpRefusal

BODY_LIMIT = 262_144


async def read_body(scope: Scope, receive: Receive, limit: int = BODY_LIMIT) -> bytes:
    if (header(scope, b"content-encoding") or "identity").lower() != "identity":
        raise HttpRefusal(415, "the body must not be compressed", headers=[(b"accept-encoding", b"identity")])
    announced = header(scope, b"content-length") or ""
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)
    return await _read(receive, limit)


async def _read(receive: Receive, limit: int) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            raise _too_large(limit)
    return body


def _too_large(limit: int) -> HttpRefusal:
    return HttpRefusal(413, f"the body is larger than {limit} bytes")
