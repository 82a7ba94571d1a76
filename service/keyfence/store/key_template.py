"""Key templates such as 'USER#{user_id}', the escaping of values in keys, and paths in keys."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from keyfence.errors import BadInput
from keyfence.store.timestamps import timestamp_text
from keyfence.validation import checked_line

MAX_PATH_NAME_LENGTH = 200
MAX_PATH_BYTES = 1_000
"""A sort key has 1,024 bytes; this leaves room for the tag before the path."""

# All characters up to '%' are escaped, not only '#' and '%'. Escapes then have the order of the characters, they sort
# before all unescaped text, and the '#' that ends a value sorts before everything that can continue the value.
_UNSAFE = re.compile(r"[\x00-%\x7f]")
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FIELD = re.compile(r"(?P<tag>[a-z]?)\{(?P<name>[a-z_]+)(?::(?P<spec>[a-z0-9.]+))?\}")
_BUCKET_LENGTHS = {"month": 7, "day": 10}
_PATH = "path"
_WIDTH = re.compile(r"0(?P<width>[1-9][0-9]*)(?:d|\.(?P<places>[1-9][0-9]*)f)")

KeyPath = tuple[str, ...]


def escape(text: str) -> str:
    """Returns the text as it is written into keys: reversible, in the same order, and without '#'."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("the text contains half a character (a lone surrogate)") from None
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


class BadTemplate(ValueError):
    """A key template was declared that could render two different values to the same key."""


@dataclass(frozen=True, slots=True)
class KeyField:
    """A field in a template. `spec` is the width of a number, the bucket of a time or 'path'; `tag` comes before it."""

    name: str
    spec: str = ""
    tag: str = ""

    def render(self, value: object) -> str:
        return self.tag + _render(self.name, self.spec, value)


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """A parsed template: tags and fields, joined by '#'."""

    text: str
    segments: tuple[str | KeyField, ...]
    fields: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "KeyTemplate":
        segments = tuple(_segment(part, text) for part in text.split("#"))
        if any(isinstance(segment, KeyField) and segment.spec == _PATH for segment in segments[:-1]):
            raise BadTemplate(f"{text!r} continues after a path; a path must be the last field")
        return cls(text, segments, tuple(segment.name for segment in segments if isinstance(segment, KeyField)))

    def render(self, values: Mapping[str, object]) -> str:
        return "#".join(
            segment if isinstance(segment, str) else segment.render(values[segment.name]) for segment in self.segments
        )


def _segment(part: str, template: str) -> str | KeyField:
    if _TAG.fullmatch(part):
        return part
    match = _FIELD.fullmatch(part)
    if match and (match["spec"] in {None, _PATH, *_BUCKET_LENGTHS} or _WIDTH.fullmatch(match["spec"])):
        return KeyField(match["name"], match["spec"] or "", match["tag"])
    raise BadTemplate(f"{part!r} in {template!r} is neither a tag nor a field; write TAG, {{field}} or {{number:05d}}")


def _render(name: str, spec: str, value: object) -> str:
    match value:
        case bool():
            raise TypeError(f"{name}: a key cannot contain a bool")
        case datetime():
            return timestamp_text(value)[: _BUCKET_LENGTHS.get(spec)]
        case date():
            return value.isoformat()[: _BUCKET_LENGTHS.get(spec)]
        case int() | Decimal():
            return _number(name, spec, value)
        case str():
            return _text(name, value)
        case tuple() if value and spec == _PATH:
            return "#".join(_text(name, part) for part in value)
    raise TypeError(f"{name}: a key cannot contain a {type(value).__name__}")


def _text(name: str, value: str) -> str:
    if not value:
        raise BadInput(f"{name} must not be empty", field=name)
    return escape(value)


def _number(name: str, spec: str, value: int | Decimal) -> str:
    width_spec = _WIDTH.fullmatch(spec)
    if width_spec is None:
        raise TypeError(f"{name}: a number in a key needs a width, as in {{{name}:010d}}")
    places, width = int(width_spec["places"] or 0), int(width_spec["width"])
    exact = Decimal(value)
    text = f"{exact.copy_abs():0{width}.{places}f}" if exact.is_finite() else ""
    if len(text) == width and Decimal(text) == exact:
        return text
    raise BadInput(f"{name} must be from 0 to the largest number of the form {0:0{width}.{places}f}", field=name)


def checked_path(names: Sequence[str], field: str) -> KeyPath:
    """Returns the names as a path. Raises BadInput if there are none, or if they are too long for a key."""
    if not names:
        raise BadInput(f"{field} must have at least one name", field=field)
    path = tuple(checked_line(name, field, MAX_PATH_NAME_LENGTH) for name in names)
    if len("#".join(map(escape, path)).encode()) > MAX_PATH_BYTES:
        raise BadInput(f"{field} is too long for a key ({MAX_PATH_BYTES} bytes when escaped)", field=field)
    return path


def is_within(path: KeyPath, root: KeyPath) -> bool:
    return path[: len(root)] == root
