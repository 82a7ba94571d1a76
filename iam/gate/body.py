"""The JSON of a call, read so that no engine can read it differently."""

import re
from typing import Any

import orjson

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class Unreadable(ValueError):
    """A body that is no JSON object, or that two readers could take for two different ones."""


def parameters(body: bytes) -> dict[str, Any]:
    try:
        read = orjson.loads(body)
        written = orjson.dumps(read)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise Unreadable(str(error)) from error
    if not isinstance(read, dict):
        raise Unreadable("the body is not an object")
    if _pairs(body) != _pairs(written):
        raise Unreadable("a name occurs twice in one object")
    return read


def _pairs(text: bytes) -> int:
    """Colons outside of strings: as many as there are pairs of name and value, and a repeated name is read as one."""
    return _STRING.sub(b"", text).count(b":")
