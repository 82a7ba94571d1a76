"""Lines of JSON: encoding and decoding them, and the errors of lines that cannot be imported."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from keyfence.errors import BadInput, KeyfenceError

MAX_LINE_BYTES = 16 * 2**20
"""A longer line is an error, so that a file without line breaks does not fill the memory."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LineError:
    """An error in the line with the number `line`. `field` is the path of the wrong field, if there is one."""

    line: int
    field: str | None
    message: str

    @classmethod
    def from_error(cls, line: int, error: KeyfenceError) -> "LineError":
        field = error.extensions.get("field")
        return cls(line, None if field is None else str(field), error.message)

    def __str__(self) -> str:
        return f"line {self.line}{f', {self.field}' if self.field else ''}: {self.message}"


class BadLines(KeyfenceError):
    """Raised if lines of a file cannot be imported. The message has one line for each of them."""

    def __init__(self, errors: Sequence[LineError]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = errors


def new_line(kind: str, **values: object) -> Line:
    """Returns the line of a record. Fields that are None are left out."""
    return {"type": kind, **without_nulls(**values)}


def without_nulls(**values: object) -> Line:
    return {name: value for name, value in values.items() if value is not None}


def encode_line(line: Line) -> bytes:
    return orjson.dumps(line) + b"\n"


def decode_line(content: bytes) -> Line:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadInput("must be an object")
    return document
