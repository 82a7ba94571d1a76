"""JSON parsers that reject a text if other parsers could disagree about its value."""

import json
import re
from typing import Any, NoReturn

import orjson

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class InvalidJson(ValueError):
    """The text is not JSON, is not the object that was expected, or has an object with the same key twice.

    The message says which of the three it is.
    """


class RepeatedKey(InvalidJson):
    """The text has an object with the same key twice."""


def parse(text: str | bytes) -> Any:
    """Parses a JSON value. Bytes must be UTF-8.

    Raises InvalidJson also for NaN, Infinity, and a key that occurs twice in one object. Python's json accepts these.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_object_with_unique_keys, parse_constant=_reject_constant)
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
    if _has_repeated_key(body, rendered):
        raise RepeatedKey("a key occurs twice in one object")
    return value


def _object_with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise RepeatedKey(f"the key {repeated!r} occurs twice in one object")
    return members


def _reject_constant(name: str) -> NoReturn:
    raise InvalidJson(f"not JSON: {name}")


def _has_repeated_key(body: bytes, rendered: bytes) -> bool:
    """Returns whether a key occurs twice. Then the body has more key-value pairs than the rendered value.

    Each pair has one colon, so the colons are counted. Strings have the same colons in both texts, unless the body
    writes a colon as the escape `\\u003a`. In this case the strings are removed before colons are counted.
    """
    if b"u003a" in body or b"u003A" in body:
        return _STRING.sub(b"", body).count(b":") != _STRING.sub(b"", rendered).count(b":")
    return body.count(b":") != rendered.count(b":")
