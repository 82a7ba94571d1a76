"""`HttpRequest` and `HttpResponse`, and the error responses of DynamoDB."""

import json
import uuid
import zlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

Headers = list[tuple[bytes, bytes]]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY_BYTES = 16 * 1024 * 1024
"""The largest request of DynamoDB, a BatchWriteItem, has 16 MB."""
CORAL_NAMESPACE = "com.amazon.coral.service#"
DYNAMODB_NAMESPACE = "com.amazonaws.dynamodb.v20120810#"
AVAILABILITY_NAMESPACE = "com.amazon.coral.availability#"
"""The three prefixes of `__type` in errors. Coral is the framework that AWS builds its services with."""
DYNAMODB_ERROR_CODES = frozenset(
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
"""The error codes of the gate that DynamoDB itself defines. The other error codes exist in every AWS service."""
_BODY_HEADERS = frozenset({b"content-length", b"x-amz-crc32"})
"""The response headers that depend on the body."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete HTTP response."""

    status: int
    headers: Headers
    body: bytes


class ResponseError(Exception):
    """Ends a call. The gate sends `response` to the caller."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status, response.body)
        self.response = response


def dynamodb_error(code: str, message: str | None = None, status: int = 400) -> HttpResponse:
    """Returns an error response.

    Errors that DynamoDB itself defines have a member `message`. Errors of every AWS service have `Message`.
    """
    error_type = _error_type(code)
    member = "message" if error_type.startswith(DYNAMODB_NAMESPACE) else "Message"
    return json_response({"__type": error_type, **({} if message is None else {member: message})}, status)


def json_response(content: Mapping[str, Any], status: int) -> HttpResponse:
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return HttpResponse(status, _response_headers(body), body)


def content_of(response: HttpResponse) -> dict[str, Any]:
    """Returns the JSON object in the body, or an empty mapping if the body is not a JSON object."""
    try:
        content = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def with_content(response: HttpResponse, content: Mapping[str, Any]) -> HttpResponse:
    """Returns the response with another body."""
    body = orjson.dumps(content)
    other_headers = [header for header in response.headers if header[0].lower() not in _BODY_HEADERS]
    body_headers = [(b"content-length", b"%d" % len(body)), (b"x-amz-crc32", b"%d" % zlib.crc32(body))]
    return HttpResponse(response.status, [*other_headers, *body_headers], body)


def _response_headers(body: bytes) -> Headers:
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"content-length", b"%d" % len(body)),
        (b"x-amzn-requestid", str(uuid.uuid4()).encode()),
        (b"x-amz-crc32", b"%d" % zlib.crc32(body)),
    ]


def _error_type(code: str) -> str:
    if code in DYNAMODB_ERROR_CODES:
        return DYNAMODB_NAMESPACE + code
    return (AVAILABILITY_NAMESPACE if code == "ThrottlingException" else CORAL_NAMESPACE) + code


class BodyTooLarge(Exception):
    """A request body that is larger than MAX_BODY_BYTES."""


class ClientDisconnected(Exception):
    """The client disconnected before the request was complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A complete HTTP request.

    Header names are in lower case. The headers have the order of the client, and a header may be repeated.
    """

    method: str
    path: bytes
    query: bytes
    headers: Headers
    body: bytes
    source_ip: str
    uses_tls: bool = False

    def find_header(self, name: bytes) -> bytes | None:
        """Returns the value of a header, or None if the header is missing or repeated.

        A repeated header is ignored, because the gate could read one of its values and the engine another.
        """
        values = [value for key, value in self.headers if key == name]
        return values[0] if len(values) == 1 else None


def without_compression(request: HttpRequest) -> HttpRequest:
    """Returns the request without the header that allows a compressed response. The gate must read the response."""
    return replace(request, headers=[header for header in request.headers if header[0] != b"accept-encoding"])


async def read_request(scope: Scope, receive: Receive) -> HttpRequest:
    """Reads a request from an ASGI server.

    Raises BodyTooLarge if the body is too large, and ClientDisconnected if the client disconnects before the body ends.
    """
    client = scope.get("client")
    return HttpRequest(
        method=scope["method"],
        path=scope["raw_path"],
        query=scope["query_string"],
        headers=scope["headers"],
        body=await _read_body(receive),
        source_ip=client[0] if client else "127.0.0.1",
        uses_tls=scope.get("scheme") == "https",
    )


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        if not message.get("more_body"):
            return bytes(body)
    raise ClientDisconnected
