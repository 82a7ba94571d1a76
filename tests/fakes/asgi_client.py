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
        return [error["extensions"]["code"] for error in self.json()["errors"]]


async def send_request(
    app: ASGIApp,
    *chunks: bytes,
    method: str = "GET",
    path: str = "/graphql",
    query_string: bytes = b"",
    headers: Iterable[tuple[str, str]] = (),
    hang_up: bool = False,
) -> AsgiResponse:
    """Sends the chunks as one body. With `hang_up` the client disconnects after the last chunk."""
    waiting: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    waiting.append({"type": "http.disconnect"} if hang_up else {"type": "http.request"})
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

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
    return _response(sent)


async def post(app: ASGIApp, body: object, accept: str | None = GRAPHQL, **headers: str) -> AsgiResponse:
    """Sends a well-formed POST. A body that is not bytes is sent as JSON."""
    named = {"content-type": JSON, **({"accept": accept} if accept else {})}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    chunk = body if isinstance(body, bytes) else orjson.dumps(body)
    return await send_request(app, chunk, method="POST", headers=named.items())


def _response(sent: list[Message]) -> AsgiResponse:
    if not sent:
        return AsgiResponse(status=0, headers={}, body=b"")
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return AsgiResponse(status=sent[0]["status"], headers=headers, body=body)
