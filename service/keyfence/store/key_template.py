"""Key templates, escaping, paths in keys."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from keyfence.errors import BadInput
from keyfence.store.timestamps import timestamp_text
from keyfence.validation import checked_line

# Everything up to and including '%' is escaped, not only '#' and '%': the escapes then sort among themselves and below
# all plain text exactly as the characters do, and the '#' that ends a value sorts below everything that can follow it.
_UNSAFE = re.compile(r"[\x00-%\x7f]")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")


def escape(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("the text holds half a character (a lone surrogate)") from None
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FIELD = re.compile(r"(?P<tag>[a-z]?)\{(?P<name>[a-z_]+)(?::(?P<spec>[a-z0-9.]+))?\}")
_BUCKETS = {"month": 7, "day": 10}
_PATH = "path"
_WIDTH = re.compile(r"0(?P<width>[1-9][0-9]*)(?:d|\.(?P<places>[1-9][0-9]*)f)")


class BadTemplate(ValueError):
    """A key template that could not keep two values apart, refused where it is declared."""


@dataclass(frozen=True, slots=True)
class KeyField:
    """One value's place in a template, with the width of a number or the bucket of a time."""

    name: str
    spec: str = ""
    tag: str = ""

    def render(self, value: object) -> str:
        return self.tag + _render(self.name, self.spec, value)


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """The parsed form of a text like 'USER#{user_id}'."""

    text: str
    segments: tuple[str | KeyField, ...]
    fields: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "KeyTemplate":
        segments = tuple(_segment(part, text) for part in text.split("#"))
        if any(isinstance(segment, KeyField) and segment.spec == _PATH for segment in segments[:-1]):
            raise BadTemplate(f"{text!r} goes on after a path, whose end could not be told")
        return cls(text, segments, tuple(segment.name for segment in segments if isinstance(segment, KeyField)))

    def render(self, values: Mapping[str, object]) -> str:
        return "#".join(
            segment if isinstance(segment, str) else segment.render(values[segment.name]) for segment in self.segments
        )


def _segment(part: str, whole: str) -> str | KeyField:
    if _TAG.fullmatch(part):
        return part
    match = _FIELD.fullmatch(part)
    if match and (match["spec"] in {None, _PATH, *_BUCKETS} or _WIDTH.fullmatch(match["spec"])):
        return KeyField(match["name"], match["spec"] or "", match["tag"])
    raise BadTemplate(f"{part!r} in {whole!r} is neither a tag nor one field; write TAG, {{field}} or {{number:05d}}")


def _render(name: str, spec: str, value: object) -> str:
    match value:
        case bool():
            raise TypeError(f"{name}: a key cannot hold a bool")
        case datetime():
            return timestamp_text(value)[: _BUCKETS.get(spec)]
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


KeyPath = tuple[str, ...]

NAME_LENGTH = 200
PATH_BYTES = 1_000
"""What a sort key has room for besides the tag before it."""


def checked_path(names: Sequence[str], field: str) -> KeyPath:
    if not names:
        raise BadInput(f"{field} must have at least one name", field=field)
    path = tuple(checked_line(name, field, NAME_LENGTH) for name in names)
    if len("#".join(map(escape, path)).encode()) > PATH_BYTES:
        raise BadInput(f"{field} is too long for a key ({PATH_BYTES} bytes when escaped)", field=field)
    return path


def is_within(path: KeyPath, root: KeyPath) -> bool:
    return path[: len(root)] == root
