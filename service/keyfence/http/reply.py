"""Answers on their way out."""

import json
from dataclasses import dataclass

import orjson
from starlette.types import Send

from keyfence.graphql.errors import Rendered
from keyfence.http.media_types import Media
from keyfence.http.refusal import Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A status, a body and what is said about it."""

    status: int = 200
    body: bytes
    content_type: str
    headers: Headers = ()

    async def send(self, send: Send) -> None:
        headers = [
            (b"content-type", self.content_type.encode("latin-1")),
            (b"content-length", str(len(self.body)).encode()),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def json_reply(body: object, *, status: int = 200, media: Media = Media.JSON, headers: Headers = ()) -> Reply:
    return Reply(status=status, body=encoded(body), content_type=f"{media}; charset=utf-8", headers=headers)


def error_reply(*errors: Rendered, status: int, media: Media = Media.JSON, headers: Headers = ()) -> Reply:
    return json_reply({"errors": errors}, status=status, media=media, headers=headers)


def encoded(body: object) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # orjson stops at integers of 64 bits, and a JSON scalar may hold longer ones.
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
