"""The lines of a file: what each holds, or what is wrong with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from keyfence.bulk import categories, customers, orders, products
from keyfence.bulk.fields import Given, text
from keyfence.bulk.kind import Kind
from keyfence.errors import BadInput, KeyfenceError

KINDS: Mapping[str, Kind[Any]] = {
    kind.name: kind for kind in (customers.KIND, categories.KIND, products.KIND, orders.KIND)
}
LONGEST = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Line:
    """A line that can be imported, by its number in the file."""

    number: int
    kind: Kind[Any]
    record: Any


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line, and in which of its fields."""

    line: int
    field: str | None
    message: str

    @classmethod
    def of(cls, number: int, error: KeyfenceError) -> "Problem":
        field = error.extensions.get("field")
        return cls(number, None if field is None else str(field), error.message)

    def __str__(self) -> str:
        return f"line {self.line}{f', {self.field}' if self.field else ''}: {self.message}"


def lines(file: BinaryIO) -> Iterator[Line | Problem]:
    """Blank ones are passed over; after one that does not end, nothing can be told."""
    number = 0
    while raw := file.readline(LONGEST + 1):
        number += 1
        if len(raw) > LONGEST:
            yield Problem(number, None, f"is longer than {LONGEST:,} bytes")
            return
        if raw.strip():
            yield _line(number, raw)


def _line(number: int, raw: bytes) -> Line | Problem:
    try:
        given = Given(_parsed(raw))
        kind = given.take("type", _kind)
        return Line(number, kind, kind.read(given))
    except BadInput as refusal:
        return Problem.of(number, refusal)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadInput("must be an object")
    return document


def _kind(value: object) -> Kind[Any]:
    if (kind := KINDS.get(text(value))) is None:
        raise BadInput(f"must be one of {', '.join(KINDS)}")
    return kind
