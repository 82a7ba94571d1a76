"""Ids: a prefix that tells the type and a ULID that tells the time."""

import re

from keyfence.errors import BadInput

_SHAPE = re.compile(r"([a-z]{2,5})_[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_id(prefix: str) -> str:
    from ulid import ULID  # slow to load, and commands load this file for help

    return f"{prefix}_{ULID()}"


def prefix_of(text: str) -> str | None:
    """The type's prefix of a well-formed id, None for any other text."""
    match = _SHAPE.fullmatch(text)
    return match[1] if match else None


def checked_id(prefix: str, text: str, field: str = "id", **where: object) -> str:
    if prefix_of(text) != prefix:
        raise BadInput(f"{field} must be an id of the form {prefix}_ and 26 characters", field=field, **where)
    return text
