"""JSON parsers that reject every text which two readers could understand differently."""

import json
import re
from typing import Any, NoReturn

import orjson

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class InvalidJson(ValueError):
    """The text is not JSON, or an object in it has a key twice. The message says which."""


def parse(text: str | bytes) -> Any:
    """Parses a JSON value. Bytes must be UTF-8.

    Raises InvalidJson for NaN, Infinity, and keys that occur twice in one object, which Python's json accepts.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_unique, parse_constant=_reject_constant)
    except InvalidJson:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"not JSON: {error}") from error


def parse_object(body: bytes) -> dict[str, Any]:
    """Parses a JSON object fast: the gate does this for each request. Raises InvalidJson like `parse`."""
    try:
        value = orjson.loads(body)
        rendered = orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise InvalidJson(str(error)) from error
    if not isinstance(value, dict):
        raise InvalidJson("the body is not an object")
    if _lost_a_pair(body, rendered):
        raise InvalidJson("a key occurs twice in one object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InvalidJson(f"the key {repeated!r} occurs twice in one object")
    return members


def _reject_constant(name: str) -> NoReturn:
    raise InvalidJson(f"not JSON: {name}")


def _lost_a_pair(body: bytes, rendered: bytes) -> bool:
    """Returns whether the body has more pairs than its rendered value, because a key occurs twice.

    Each pair has one colon. Colons in strings are the same in both texts, unless the body has an escaped one:
    then strings have to be removed before colons are counted.
    """
    if b"u003a" in body or b"u003A" in body:
        return _STRING.sub(b"", body).count(b":") != _STRING.sub(b"", rendered).count(b":")
    return body.count(b":") != rendered.count(b":")
