"""What a line gives, taken by name; whatever cannot be used is refused by the name of its field."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from keyfence.errors import BadInput
from keyfence.validation import checked_line

NAME_LENGTH = 2_048

_AMOUNT = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of a line; `where` leads to it, as in `items[2].`"""

    values: dict[str, Any]
    where: str = ""

    def take(self, name: str, read: Callable[[Any], T]) -> T:
        if self.values.get(name) is None:
            raise self.bad(name, "is missing")
        try:
            return read(self.values[name])
        except BadInput as refusal:
            raise self.bad(name, refusal.message) from None

    def maybe(self, name: str, read: Callable[[Any], T], otherwise: T) -> T:
        return otherwise if self.values.get(name) is None else self.take(name, read)

    def parts(self, name: str) -> list["Fields"]:
        """The objects of a list, none where nothing is given."""
        values: list[Any] = self.maybe(name, _list, [])
        return [
            Fields(_object(self, f"{name}[{at}]", part), f"{self.where}{name}[{at}].") for at, part in enumerate(values)
        ]

    def allow_only(self, *names: str) -> "Fields":
        if unknown := sorted(self.values.keys() - set(names)):
            raise self.bad(unknown[0], f"is unknown; known are {', '.join(names)}")
        return self

    def bad(self, name: str, message: str) -> BadInput:
        return BadInput(message, field=self.where + name)


def _object(given: Fields, name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise given.bad(name, "must be an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput("must be a list")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise BadInput("must be a text")
    return value


def actor(value: object) -> str:
    """Who did something: the subject of a token, or any other name."""
    return checked_line(text(value), "it", NAME_LENGTH)


def names(value: object) -> list[str]:
    return [text(name) for name in _list(value)]


def whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadInput("must be a whole number from 1")
    return value


def amount(value: object) -> Decimal:
    """Never from a fraction that JSON holds as a number, which may have lost digits already."""
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return Decimal(value)
    raise BadInput('must be a number in quotes, like "19.90"')


def timestamp(value: object) -> datetime:
    try:
        read = datetime.fromisoformat(text(value))
        if read.tzinfo is not None:
            return read.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadInput("must be a time with a zone, like 2026-11-02T09:30:00Z")


def one_of(kind: type[E]) -> Callable[[object], E]:
    def read(value: object) -> E:
        try:
            return kind(text(value))
        except ValueError:
            raise BadInput(f"must be one of {', '.join(kind)}") from None

    return read
