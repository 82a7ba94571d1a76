"""`Fields`: reads the fields of one JSON object with their types. Its errors name the field that is wrong."""

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
"""More than the subject of a token may have, since records of other systems may have longer names."""

_AMOUNT = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object of a line. `path` says where in the line it is: empty for the whole line, or such as `items[2].`"""

    values: dict[str, Any]
    path: str = ""

    def required(self, name: str, parse: Callable[[Any], T]) -> T:
        """Returns the parsed value. Raises BadInput if the field is missing or null, or if `parse` raises it."""
        if self.values.get(name) is None:
            raise self.error(name, "is missing")
        try:
            return parse(self.values[name])
        except BadInput as error:
            raise self.error(name, error.message) from None

    def optional(self, name: str, parse: Callable[[Any], T], default: T) -> T:
        return default if self.values.get(name) is None else self.required(name, parse)

    def objects(self, name: str) -> list["Fields"]:
        """Returns the objects of a list. If the field is missing, the list is empty."""
        values: list[Any] = self.optional(name, _parse_list, [])
        return [
            Fields(self._parse_object(f"{name}[{position}]", value), f"{self.path}{name}[{position}].")
            for position, value in enumerate(values)
        ]

    def allow_only(self, *names: str) -> None:
        """Raises BadInput if the object has any other field."""
        if unknown := sorted(self.values.keys() - set(names)):
            raise self.error(unknown[0], f"is unknown; known are {', '.join(names)}")

    def error(self, name: str, message: str) -> BadInput:
        return BadInput(message, field=self.path + name)

    def _parse_object(self, name: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(name, "must be an object")
        return value


def parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise BadInput("must be a text")
    return value


def parse_actor(value: object) -> str:
    """Returns the name of whoever did something: the subject of a token, or any other name."""
    return checked_line(parse_text(value), "the actor", MAX_ACTOR_LENGTH)


def parse_texts(value: object) -> list[str]:
    return [parse_text(item) for item in _parse_list(value)]


def parse_positive_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadInput("must be a whole number from 1")
    return value


def parse_amount(value: object) -> Decimal:
    """Accepts only text, because a JSON number with a fraction may already have lost digits."""
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return Decimal(value)
    raise BadInput('must be a number in quotes, like "19.90"')


def parse_timestamp(value: object) -> datetime:
    try:
        parsed = datetime.fromisoformat(parse_text(value))
        if parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadInput("must be a time with a zone, like 2026-11-02T09:30:00Z")


def enum_parser(enum: type[E]) -> Callable[[object], E]:
    """Returns a function that parses the text of one of the enum's values."""

    def parse(value: object) -> E:
        try:
            return enum(parse_text(value))
        except ValueError:
            raise BadInput(f"must be one of {', '.join(enum)}") from None

    return parse


def _parse_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput("must be a list")
    return value
