"""Lines of JSON: how a line is formatted and compared, and what is wrong with one that cannot be imported."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from keyfence.errors import BadInput, KeyfenceError

MAX_LINE_BYTES = 16 * 2**20

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LineError:
    """An error in one line of a file, with the field that is wrong."""

    line: int
    field: str | None
    message: str

    @classmethod
    def of(cls, number: int, error: KeyfenceError) -> "LineError":
        field = error.extensions.get("field")
        return cls(number, None if field is None else str(field), error.message)

    def __str__(self) -> str:
        return f"line {self.line}{f', {self.field}' if self.field else ''}: {self.message}"


class BadLines(KeyfenceError):
    """Lines that cannot be imported. The message has a line for each of them."""

    def __init__(self, problems: Sequence[LineError]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def record_line(kind: str, **values: object) -> Line:
    return {"type": kind, **without_nulls(**values)}


def without_nulls(**values: object) -> Line:
    return {name: value for name, value in values.items() if value is not None}


def encoded(line: Line) -> bytes:
    return orjson.dumps(line) + b"\n"


def decoded(raw: bytes) -> Line:
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadInput("must be an object")
    return document


def differing_fields(one: object, other: object, path: str = "") -> Iterator[tuple[str, object, object]]:
    """Yields the path of each field in which two lines differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in _names_of_both(one, other):
            yield from differing_fields(one.get(name), other.get(name), f"{path}.{name}" if path else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for position, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differing_fields(left, right, f"{path}[{position}]")
    elif one != other:
        yield path, one, other


def _names_of_both(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*one, *other)))
