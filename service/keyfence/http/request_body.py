"""Reads a GraphQL request from the body of a POST request or from the query string of a GET request."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from keyfence.graphql.executor import GraphQLRequest
from keyfence.http.middleware import header
from keyfence.http.response import HttpError

MAX_BODY_BYTES = 65_536
"""Four times the size of the largest document. Parsing a larger body would block the event loop for longer than a
typical request."""
MAX_PARAMETERS = 16
"""How many parameters a query string may have. GraphQL over HTTP defines four. The limit saves the parser from reading
thousands."""


async def read_body(scope: Scope, receive: Receive, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Returns the whole body. Raises HttpError if the body is compressed or too large.

    Raises ClientDisconnect if the caller closes the connection before the end of the body."""
    if (header(scope, b"content-encoding") or "identity").lower() != "identity":
        raise HttpError(415, "the body must not be compressed", headers=[(b"accept-encoding", b"identity")])
    length = header(scope, b"content-length") or ""
    if length.isdecimal() and int(length) > max_bytes:
        raise _too_large(max_bytes)
    body, has_more = b"", True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
    return body


def parse_body(body: bytes) -> GraphQLRequest:
    parameters = _parse_json(body, "the body is not JSON in UTF-8")
    if isinstance(parameters, list):
        raise HttpError(400, "batches are not served: send one request at a time")
    if not isinstance(parameters, dict):
        raise HttpError(400, "the body must be a JSON object")
    return _make_request(parameters)


def parse_query_string(query_string: bytes) -> GraphQLRequest:
    try:
        pairs = parse_qsl(query_string.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise HttpError(400, "the query string cannot be read") from None
    parameters: dict[str, object] = dict(pairs)
    if len(parameters) < len(pairs):
        raise HttpError(400, "the query string has a parameter twice")
    for name in ("variables", "extensions"):
        if text := parameters.get(name):
            parameters[name] = _parse_json(str(text), f"{name} is not JSON")
    return _make_request(parameters)


def _make_request(parameters: Mapping[str, object]) -> GraphQLRequest:
    query, operation_name = parameters.get("query"), parameters.get("operationName")
    if not isinstance(query, str) or not query:
        raise HttpError(400, "query must be a string that is not empty")
    if operation_name is not None and not isinstance(operation_name, str):
        raise HttpError(400, "operationName must be a string")
    return GraphQLRequest(
        query=query,
        operation_name=operation_name or None,
        variables=_get_object(parameters, "variables"),
        extensions=_get_object(parameters, "extensions"),
    )


def _get_object(parameters: Mapping[str, object], name: str) -> dict[str, object]:
    value = parameters.get(name)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise HttpError(400, f"{name} must be a JSON object")
    return value


def _parse_json(text: bytes | str, error_message: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise HttpError(400, error_message) from None


def _too_large(max_bytes: int) -> HttpError:
    return HttpError(413, f"the body is larger than {max_bytes} bytes")
