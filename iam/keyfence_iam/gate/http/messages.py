"""HTTP requests and responses as values; DynamoDB's JSON errors."""

import json
import uuid
import zlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

Headers = list[tuple[bytes, bytes]]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY_BYTES = 16 * 1024 * 1024
CORAL_NAMESPACE = "com.amazon.coral.service#"
DYNAMODB_NAMESPACE = "com.amazonaws.dynamodb.v20120810#"
AVAILABILITY_NAMESPACE = "com.amazon.coral.availability#"
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
    """A complete HTTP response."""

    status: int
    headers: Headers
    body: bytes


class ResponseError(Exception):
    """Ends a call with a response that does not come from the engine."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status, response.body)
        self.response = response


def dynamodb_error(code: str, message: str | None = None, status: int = 400) -> HttpResponse:
    """DynamoDB's own errors have a member `message`; those of AWS's common layer have `Message`."""
    error_type = _error_type(code)
    member = "message" if error_type.startswith(DYNAMODB_NAMESPACE) else "Message"
    return json_response({"__type": error_type, **({} if message is None else {member: message})}, status)


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


def _error_type(code: str) -> str:
    if code in DYNAMODB_CODES:
        return DYNAMODB_NAMESPACE + code
    return (AVAILABILITY_NAMESPACE if code == "ThrottlingException" else CORAL_NAMESPACE) + code


class BodyTooLarge(Exception):
    """A body that is larger than DynamoDB accepts."""


class ClientDisconnected(Exception):
    """The client disconnected before the request was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A complete HTTP request. Header names are in lower case; order and repetitions are those of the client."""

    method: str
    path: bytes
    query: bytes
    headers: Headers
    body: bytes
    source_ip: str
    secure: bool = False

    def header(self, name: bytes) -> bytes | None:
        """Returns the value of a header that occurs exactly once. Of two, the engine could read the other one."""
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
        if len(parts) > MAX_BODY_BYTES:
            raise BodyTooLarge
        if not message.get("more_body"):
            return bytes(parts)
        message = await receive()
    raise ClientDisconnected
