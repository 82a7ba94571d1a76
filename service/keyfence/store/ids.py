"""Ids such as usr_01M7HHHGKHN6S6V7032B0W8CKZ: a prefix for the type, and a ULID, which begins with the time."""

import re

from keyfence.errors import BadInput

_ID = re.compile(r"([a-z]{2,5})_[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_id(prefix: str) -> str:
    from ulid import ULID  # imported here because it is slow to import, and every command imports this module

    return f"{prefix}_{ULID()}"


def prefix_of(text: str) -> str | None:
    """Returns the prefix of an id, or None if the text is not an id."""
    match = _ID.fullmatch(text)
    return match[1] if match else None


def checked_id(prefix: str, text: str, field: str = "id", **details: object) -> str:
    """Returns the text. Raises BadInput, with the field and the details, if the text is not an id with this prefix."""
    if prefix_of(text) != prefix:
        raise BadInput(f"{field} must be an id of the form {prefix}_ and 26 characters", field=field, **details)
    return text
