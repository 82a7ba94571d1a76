"""Reads a GraphQL request from the body or from the query string of an HTTP request."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from keyfence.graphql.executor import GraphQLRequest
from keyfence.http.middleware import header
from keyfence.http.response import HttpError

BODY_LIMIT = 262_144
MAX_PARAMETERS = 16


async def read_body(scope: Scope, receive: Receive, limit: int = BODY_LIMIT) -> bytes:
    """Read the whole body. Raises HttpError if it is compressed or too large, ClientDisconnect if it does not end."""
    if (header(scope, b"content-encoding") or "identity").lower() != "identity":
        raise HttpError(415, "the body must not be compressed", headers=[(b"accept-encoding", b"identity")])
    length = header(scope, b"content-length") or ""
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)
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


def from_body(body: bytes) -> GraphQLRequest:
    parameters = _json(body, "the body is not JSON in UTF-8")
    if isinstance(parameters, list):
        raise HttpError(400, "batches are not served: send one request at a time")
    if not isinstance(parameters, dict):
        raise HttpError(400, "the body must be a JSON object")
    return _request(parameters)


def from_query_string(query_string: bytes) -> GraphQLRequest:
    try:
        pairs = parse_qsl(query_string.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise HttpError(400, "the query string cannot be read") from None
    parameters: dict[str, object] = dict(pairs)
    if len(parameters) < len(pairs):
        raise HttpError(400, "the query string has a parameter twice")
    for name in ("variables", "extensions"):
        if text := parameters.get(name):
            parameters[name] = _json(str(text), f"{name} is not JSON")
    return _request(parameters)


def _request(parameters: Mapping[str, object]) -> GraphQLRequest:
    query, operation_name = parameters.get("query"), parameters.get("operationName")
    if not isinstance(query, str) or not query:
        raise HttpError(400, "query must be a string that is not empty")
    if operation_name is not None and not isinstance(operation_name, str):
        raise HttpError(400, "operationName must be a string")
    return GraphQLRequest(
        query=query,
        operation_name=operation_name or None,
        variables=_object(parameters, "variables"),
        extensions=_object(parameters, "extensions"),
    )


def _object(parameters: Mapping[str, object], name: str) -> dict[str, object]:
    value = parameters.get(name)
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise HttpError(400, f"{name} must be a JSON object")
    return value


def _json(text: bytes | str, message: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise HttpError(400, message) from None


def _too_large(limit: int) -> HttpError:
    return HttpError(413, f"the body is larger than {limit} bytes")
