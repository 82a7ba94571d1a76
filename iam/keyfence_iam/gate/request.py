"""A request as it came in, byte for byte."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from keyfence_iam.gate.answer import Headers

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

LARGEST_BODY = 16 * 1024 * 1024


class TooLarge(Exception):
    """A body beyond what DynamoDB takes."""


class Gone(Exception):
    """The caller went away before the request was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Header names are in lower case, their order and repetition as they came."""

    method: str
    path: bytes
    query: bytes
    headers: Headers
    body: bytes
    source_ip: str
    secure: bool = False

    def header(self, name: bytes) -> bytes | None:
        """The value of a header that came exactly once: of two, the engine might read the other one."""
        found = [value for key, value in self.headers if key == name]
        return found[0] if len(found) == 1 else None


async def received(scope: Scope, receive: Receive) -> Request:
    client = scope.get("client")
    return Request(
        method=scope["method"],
        path=scope["raw_path"],
        query=scope["query_string"],
        headers=scope["headers"],
        body=await _body(receive),
        source_ip=client[0] if client else "127.0.0.1",
        secure=scope.get("scheme") == "https",
    )


async def _body(receive: Receive) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message["body"])
    parts = bytearray()
    while message["type"] == "http.request":
        parts += message.get("body", b"")
        if len(parts) > LARGEST_BODY:
            raise TooLarge
        if not message.get("more_body"):
            return bytes(parts)
        message = await receive()
    raise Gone
