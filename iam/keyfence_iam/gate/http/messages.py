"""Request and response bytes; DynamoDB's JSON errors."""

import json
import uuid
import zlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

Headers = list[tuple[bytes, bytes]]

CORAL = "com.amazon.coral.service#"
DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
AVAILABILITY = "com.amazon.coral.availability#"
DYNAMODB_CODES = frozenset(
    {
        "ConditionalCheckFailedException",
        "InternalServerError",
        "ItemCollectionSizeLimitExceededException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ResourceInUseException",
        "ResourceNotFoundException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One HTTP response."""

    status: int
    headers: Headers
    body: bytes


class ResponseError(Exception):
    """The end of a call that does not come from the engine, with the answer that says so."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__(answer.status, answer.body)
        self.answer = answer


def dynamodb_error(code: str, message: str | None = None, status: int = 400) -> HttpResponse:
    """DynamoDB's own errors spell `message`, those of the layer before it `Message`; a few come without."""
    kind = _qualified(code)
    spelling = "message" if kind.startswith(DYNAMODB) else "Message"
    said = {} if message is None else {spelling: message}
    return json_response({"__type": kind, **said}, status)


def json_response(content: Mapping[str, Any], status: int) -> HttpResponse:
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return HttpResponse(status, _headers(body), body)


def _headers(body: bytes) -> Headers:
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"content-length", b"%d" % len(body)),
        (b"x-amzn-requestid", str(uuid.uuid4()).encode()),
        (b"x-amz-crc32", b"%d" % zlib.crc32(body)),
    ]


def _qualified(code: str) -> str:
    if code in DYNAMODB_CODES:
        return DYNAMODB + code
    return (AVAILABILITY if code == "ThrottlingException" else CORAL) + code


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

LARGEST_BODY = 16 * 1024 * 1024


class BodyTooLarge(Exception):
    """A body beyond what DynamoDB takes."""


class ClientDisconnected(Exception):
    """The caller went away before the request was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
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


async def read_request(scope: Scope, receive: Receive) -> HttpRequest:
    client = scope.get("client")
    return HttpRequest(
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
            raise BodyTooLarge
        if not message.get("more_body"):
            return bytes(parts)
        message = await receive()
    raise ClientDisconnected
