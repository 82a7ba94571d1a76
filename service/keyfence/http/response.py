"""`HttpResponse`, `HttpError`, and the table of the HTTP status of each error code."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from starlette.types import Send

from keyfence.errors import Code
from keyfence.graphql.error_masking import RenderedError
from keyfence.http.media_types import MediaType

Headers = Sequence[tuple[bytes, bytes]]

STATUS_BY_CODE = {
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.NOT_FOUND: 404,
    Code.CONFLICT: 409,
    Code.BAD_USER_INPUT: 400,
    Code.THROTTLED: 429,
    Code.QUOTA_EXCEEDED: 429,
    Code.INTERNAL: 500,
}


class HttpError(Exception):
    """An error of a request. Its response has this HTTP status and one GraphQL error."""

    def __init__(self, status: int, message: str, *, code: Code = Code.BAD_USER_INPUT, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.errors: tuple[RenderedError, ...] = ({"message": message, "extensions": {"code": code.value}},)


def method_not_allowed(message: str, *allowed_methods: str) -> HttpError:
    return HttpError(405, message, headers=[(b"allow", ", ".join(allowed_methods).encode())])


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """An HTTP response that is sent in one piece."""

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


def json_response(
    body: object, *, status: int = 200, media: MediaType = MediaType.JSON, headers: Headers = ()
) -> HttpResponse:
    return HttpResponse(status=status, body=encode_json(body), content_type=f"{media}; charset=utf-8", headers=headers)


def error_response(
    *errors: RenderedError, status: int, media: MediaType = MediaType.JSON, headers: Headers = ()
) -> HttpResponse:
    return json_response({"errors": errors}, status=status, media=media, headers=headers)


def encode_json(body: object) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # orjson encodes integers of at most 64 bits, but the scalar JSON can contain longer ones.
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
