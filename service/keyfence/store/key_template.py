"""Key templates such as 'USER#{user_id}', and how values and paths are written into keys."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from keyfence.email_address import email_key
from keyfence.errors import BadInput
from keyfence.store.timestamps import timestamp_text
from keyfence.validation import checked_line

MAX_PATH_NAME_LENGTH = 200
"""How many characters one name of a path may have."""
MAX_PATH_BYTES = 1_000
"""How many bytes an escaped path may have. A sort key has at most 1,024 bytes, and a tag comes before the path."""

# '#' separates values, and '%' begins an escape. Every character up to '%' is escaped, and '%' sorts before all
# characters that are not escaped. So escaped texts sort in the order of the original texts. '#' sorts before '%', so a
# value sorts before all longer values that begin with it.
_ESCAPED_CHARACTERS = re.compile(r"[\x00-%\x7f]")
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FIELD = re.compile(r"(?P<tag>[a-z]?)\{(?P<name>[a-z_]+)(?::(?P<spec>[a-z0-9.]+))?\}")
_BUCKET_LENGTHS = {"month": 7, "day": 10}
"""How many characters of a timestamp are its month or its day."""
_PATH_SPEC = "path"
_EMAIL_SPEC = "email"
_WORD_SPECS = frozenset({None, _PATH_SPEC, _EMAIL_SPEC, *_BUCKET_LENGTHS})
_NUMBER_SPEC = re.compile(r"0(?P<width>[1-9][0-9]*)(?:d|\.(?P<places>[1-9][0-9]*)f)")

KeyPath = tuple[str, ...]
"""Names from a root downwards, such as the categories above a product. In a key they are joined by '#'."""


def escape(text: str) -> str:
    """Returns a text as it is written into keys. An escaped text has no '#'. Escaped texts sort like the original
    texts, except for texts with the control character DEL. Raises BadInput if the text has a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("the text contains a lone surrogate, which is half of a character; remove it") from None
    return _ESCAPED_CHARACTERS.sub(lambda match: f"%{ord(match[0]):02X}", text)


class BadTemplate(ValueError):
    """A key template that is not well formed, or with which different values could have the same key."""


@dataclass(frozen=True, slots=True)
class KeyField:
    """A field in a template, such as {price:010.2f} or v{revision:04d}."""

    name: str
    spec: str = ""
    """The width of a number ('05d', '010.2f'), the time bucket of a time ('day', 'month'), 'path', 'email', or empty.

    'email' writes the result of `email_key`, so that all spellings of an address have one key."""
    tag: str = ""
    """A letter before the value, such as the 'v' of a revision."""

    def render(self, value: object) -> str:
        return self.tag + _render_value(self.name, self.spec, value)


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """A parsed template: segments that are joined by '#'. A segment is a constant text, called a tag, or a field."""

    text: str
    segments: tuple[str | KeyField, ...]
    fields: tuple[str, ...]
    """The names of the fields."""

    @classmethod
    def parse(cls, text: str) -> "KeyTemplate":
        """Parses a template. Raises BadTemplate if it is not well formed."""
        segments = tuple(_parse_segment(segment, text) for segment in text.split("#"))
        if any(isinstance(segment, KeyField) and segment.spec == _PATH_SPEC for segment in segments[:-1]):
            raise BadTemplate(f"{text!r} continues after a path; a path must be the last field")
        return cls(text, segments, tuple(segment.name for segment in segments if isinstance(segment, KeyField)))

    def render(self, values: Mapping[str, object]) -> str:
        return "#".join(
            segment if isinstance(segment, str) else segment.render(values[segment.name]) for segment in self.segments
        )


def _parse_segment(segment: str, template: str) -> str | KeyField:
    if _TAG.fullmatch(segment):
        return segment
    match = _FIELD.fullmatch(segment)
    if match and (match["spec"] in _WORD_SPECS or _NUMBER_SPEC.fullmatch(match["spec"])):
        return KeyField(match["name"], match["spec"] or "", match["tag"])
    raise BadTemplate(
        f"{segment!r} in {template!r} is neither a tag nor a field; write TAG, {{field}} or {{number:05d}}"
    )


def _render_value(name: str, spec: str, value: object) -> str:
    match value:
        case bool():
            raise TypeError(f"{name}: a key cannot contain a bool")
        case datetime():
            return timestamp_text(value)[: _BUCKET_LENGTHS.get(spec)]
        case date():
            return value.isoformat()[: _BUCKET_LENGTHS.get(spec)]
        case int() | Decimal():
            return _render_number(name, spec, value)
        case str():
            return _render_text(name, email_key(value) if spec == _EMAIL_SPEC else value)
        case tuple() if value and spec == _PATH_SPEC:
            return "#".join(_render_text(name, element) for element in value)
    raise TypeError(f"{name}: a key cannot contain a {type(value).__name__}")


def _render_text(name: str, value: str) -> str:
    if not value:
        raise BadInput(f"{name} must not be empty", field=name)
    return escape(value)


def _render_number(name: str, spec: str, value: int | Decimal) -> str:
    number_spec = _NUMBER_SPEC.fullmatch(spec)
    if number_spec is None:
        raise TypeError(f"{name}: a number in a key needs a width, as in {{{name}:010d}}")
    places, width = int(number_spec["places"] or 0), int(number_spec["width"])
    number = Decimal(value)
    text = f"{number.copy_abs():0{width}.{places}f}" if number.is_finite() else ""
    # If the number is negative or has too many decimals, the text has another value than the number. If the number is
    # too large, the text is too long.
    if len(text) == width and Decimal(text) == number:
        return text
    raise BadInput(f"{name} must be from 0 to {_largest(width, places)}, with at most {places} decimals", field=name)


def _largest(width: int, places: int) -> str:
    """Returns the largest number that a field of this width can have, such as 9999.99 for 7 characters and 2
    decimals."""
    return f"{'9' * (width - places - 1)}.{'9' * places}" if places else "9" * width


def checked_path(names: Sequence[str], field: str) -> KeyPath:
    """Returns the names as a path. Raises BadInput if there are no names, if a name is not valid, or if the path is too
    long for a key."""
    if not names:
        raise BadInput(f"{field} must have at least one name", field=field)
    path = tuple(checked_line(name, field, MAX_PATH_NAME_LENGTH) for name in names)
    if len("#".join(map(escape, path)).encode()) > MAX_PATH_BYTES:
        raise BadInput(f"{field} is too long for a key ({MAX_PATH_BYTES} bytes when escaped)", field=field)
    return path


def is_within(path: KeyPath, root: KeyPath) -> bool:
    """Whether a path is the root or below it."""
    return path[: len(root)] == root
