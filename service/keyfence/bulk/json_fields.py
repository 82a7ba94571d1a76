"""`Fields`: reads the fields of one JSON object with their types, and names the field that is wrong."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from keyfence.errors import BadInput
from keyfence.validation import checked_line

MAX_ACTOR_LENGTH = 2_048

_AMOUNT = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object, and the path that leads to it from the line, such as `items[2].`"""

    values: dict[str, Any]
    path: str = ""

    def required(self, name: str, parse: Callable[[Any], T]) -> T:
        """Returns the parsed value. Raises BadInput if it is missing or null, or if `parse` does."""
        if self.values.get(name) is None:
            raise self.bad(name, "is missing")
        try:
            return parse(self.values[name])
        except BadInput as error:
            raise self.bad(name, error.message) from None

    def optional(self, name: str, parse: Callable[[Any], T], default: T) -> T:
        return default if self.values.get(name) is None else self.required(name, parse)

    def objects(self, name: str) -> list["Fields"]:
        """Returns the objects of a list, which is empty if the field is missing."""
        values: list[Any] = self.optional(name, _list, [])
        return [
            Fields(self._object(f"{name}[{position}]", value), f"{self.path}{name}[{position}].")
            for position, value in enumerate(values)
        ]

    def allow_only(self, *names: str) -> "Fields":
        if unknown := sorted(self.values.keys() - set(names)):
            raise self.bad(unknown[0], f"is unknown; known are {', '.join(names)}")
        return self

    def bad(self, name: str, message: str) -> BadInput:
        return BadInput(message, field=self.path + name)

    def _object(self, name: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.bad(name, "must be an object")
        return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise BadInput("must be a text")
    return value


def actor(value: object) -> str:
    """Parses who did something: the subject of a token, or any other name."""
    return checked_line(text(value), "it", MAX_ACTOR_LENGTH)


def texts(value: object) -> list[str]:
    return [text(item) for item in _list(value)]


def positive_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadInput("must be a whole number from 1")
    return value


def amount(value: object) -> Decimal:
    """Accepts text only, since a JSON number with a fraction may have lost digits already."""
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


def one_of(enum: type[E]) -> Callable[[object], E]:
    def parse(value: object) -> E:
        try:
            return enum(text(value))
        except ValueError:
            raise BadInput(f"must be one of {', '.join(enum)}") from None

    return parse


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput("must be a list")
    return value
