"""A key template: tags and typed fields between '#' signs, filled into one unambiguous text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from keyfence.errors import BadInput
from keyfence.store.escape import escape

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FIELD = re.compile(r"(?P<tag>[a-z]?)\{(?P<name>[a-z_]+)(?::(?P<spec>[a-z0-9.]+))?\}")
_BUCKETS = {"month": 7, "day": 10}
_PATH = "path"
_WIDTH = re.compile(r"0(?P<width>[1-9][0-9]*)(?:d|\.(?P<places>[1-9][0-9]*)f)")


class BadTemplate(ValueError):
    """A key template that could not keep two values apart, refused where it is declared."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value's place in a template, with the width of a number or the bucket of a time."""

    name: str
    spec: str = ""
    tag: str = ""

    def render(self, value: object) -> str:
        return self.tag + _render(self.name, self.spec, value)


@dataclass(frozen=True, slots=True)
class Template:
    """The parsed form of a text like 'USER#{user_id}'."""

    text: str
    segments: tuple[str | Field, ...]
    fields: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Template":
        segments = tuple(_segment(part, text) for part in text.split("#"))
        if any(isinstance(segment, Field) and segment.spec == _PATH for segment in segments[:-1]):
            raise BadTemplate(f"{text!r} goes on after a path, whose end could not be told")
        return cls(text, segments, tuple(segment.name for segment in segments if isinstance(segment, Field)))

    def render(self, values: Mapping[str, object]) -> str:
        return "#".join(
            segment if isinstance(segment, str) else segment.render(values[segment.name]) for segment in self.segments
        )


def _segment(part: str, whole: str) -> str | Field:
    if _TAG.fullmatch(part):
        return part
    match = _FIELD.fullmatch(part)
    if match and (match["spec"] in {None, _PATH, *_BUCKETS} or _WIDTH.fullmatch(match["spec"])):
        return Field(match["name"], match["spec"] or "", match["tag"])
    raise BadTemplate(f"{part!r} in {whole!r} is neither a tag nor one field; write TAG, {{field}} or {{number:05d}}")


def _render(name: str, spec: str, value: object) -> str:
    match value:
        case bool():
            raise TypeError(f"{name}: a key cannot hold a bool")
        case datetime():
            return instant(value)[: _BUCKETS.get(spec)]
        case date():
            return value.isoformat()[: _BUCKETS.get(spec)]
        case int() | Decimal():
            return _number(name, spec, value)
        case str():
            return _text(name, value)
        case tuple() if value and spec == _PATH:
            return "#".join(_text(name, part) for part in value)
    raise TypeError(f"{name}: a key cannot hold a {type(value).__name__}")


def _text(name: str, value: str) -> str:
    if not value:
        raise BadInput(f"{name} must not be empty", field=name)
    return escape(value)


def _number(name: str, spec: str, value: int | Decimal) -> str:
    form = _WIDTH.fullmatch(spec)
    if form is None:
        raise TypeError(f"{name}: a number in a key needs a width, as in {{{name}:010d}}")
    places, width = int(form["places"] or 0), int(form["width"])
    exact = Decimal(value)
    text = f"{exact.copy_abs():0{width}.{places}f}" if exact.is_finite() else ""
    if len(text) == width and Decimal(text) == exact:
        return text
    raise BadInput(f"{name} must be from 0 to the largest number of the form {0:0{width}.{places}f}", field=name)


def instant(moment: datetime) -> str:
    """ISO 8601 in UTC with a fixed width, so that text order is time order."""
    return universal(moment).isoformat(timespec="microseconds")[:-6] + "Z"


def universal(moment: datetime) -> datetime:
    """The same moment in UTC, whose days and months are those of all keys."""
    if moment.tzinfo is None:
        raise TypeError("a time without a zone cannot be ordered")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadInput("a time must be within the years 1 to 9999 of UTC") from None
