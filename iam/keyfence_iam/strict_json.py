"""The JSON of a call, read so that no engine can read it differently."""

import re
from typing import Any

import orjson

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class InvalidJson(ValueError):
    """A body that is no JSON object, or that two readers could take for two different ones."""


def parse_object(body: bytes) -> dict[str, Any]:
    try:
        read = orjson.loads(body)
        written = orjson.dumps(read)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise InvalidJson(str(error)) from error
    if not isinstance(read, dict):
        raise InvalidJson("the body is not an object")
    if _repeats(body, written):
        raise InvalidJson("a name occurs twice in one object")
    return read


def _repeats(body: bytes, written: bytes) -> bool:
    """Every pair has its colon, and of a repeated name one pair is left when it is written again.

    Colons in strings are the same before and after, unless one was escaped: only then strings have to be told apart.
    """
    if b"u003a" in body or b"u003A" in body:
        return _STRING.sub(b"", body).count(b":") != _STRING.sub(b"", written).count(b":")
    return body.count(b":") != written.count(b":")
