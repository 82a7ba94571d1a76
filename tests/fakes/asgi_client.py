"""Sends requests to an ASGI application without a server, with control over every byte."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.types import ASGIApp, Message

JSON = "application/json"
GRAPHQL = "application/graphql-response+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsgiResponse:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return orjson.loads(self.body)

    def codes(self) -> list[str]:
        """Returns the codes of the GraphQL errors."""
        return [error["extensions"]["code"] for error in self.json()["errors"]]


async def send_request(
    app: ASGIApp,
    *chunks: bytes,
    method: str = "GET",
    path: str = "/graphql",
    query_string: bytes = b"",
    headers: Iterable[tuple[str, str]] = (),
    disconnect: bool = False,
) -> AsgiResponse:
    """Sends the chunks as one body. With `disconnect` the client disconnects after the last chunk."""
    incoming: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    incoming.append({"type": "http.disconnect"} if disconnect else {"type": "http.request"})
    outgoing: list[Message] = []

    async def receive() -> Message:
        return incoming.pop(0)

    async def send(message: Message) -> None:
        outgoing.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query_string,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    return _response(outgoing)


async def post(app: ASGIApp, body: object, accept: str | None = GRAPHQL, **headers: str) -> AsgiResponse:
    """Sends a well-formed POST. A body that is not bytes is outgoing as JSON."""
    all_headers = {"content-type": JSON, **({"accept": accept} if accept else {})}
    all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
    chunk = body if isinstance(body, bytes) else orjson.dumps(body)
    return await send_request(app, chunk, method="POST", headers=all_headers.items())


def _response(outgoing: list[Message]) -> AsgiResponse:
    if not outgoing:
        return AsgiResponse(status=0, headers={}, body=b"")
    headers = {name.decode(): value.decode() for name, value in outgoing[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in outgoing[1:])
    return AsgiResponse(status=outgoing[0]["status"], headers=headers, body=body)
