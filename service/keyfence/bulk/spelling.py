"""How values are spelled in lines, so that equal things are equal bytes."""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

Line = dict[str, Any]
IMPORTER = "import"
"""In whose name things are kept of which no line says who made them."""


def line(kind: str, **values: object) -> Line:
    """Without what is not there."""
    return {"type": kind, **part(**values)}


def part(**values: object) -> Line:
    return {name: value for name, value in values.items() if value is not None}


def encoded(line: Line) -> bytes:
    return orjson.dumps(line) + b"\n"


def differing(one: object, other: object, where: str = "") -> Iterator[tuple[str, object, object]]:
    """The fields in which two lines differ, with what is there in each."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in _either(one, other):
            yield from differing(one.get(name), other.get(name), f"{where}.{name}" if where else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differing(left, right, f"{where}[{at}]")
    elif one != other:
        yield where, one, other


def _either(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*one, *other)))
