"""Checks of what callers send that every noun needs."""

import re

from keyfence.errors import BadInput

EMAIL_LENGTH = 254

_UNREADABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f\ud800-\udfff]+@[^@\s\x00-\x1f\x7f\ud800-\udfff]+")
_HALF = re.compile(r"[\ud800-\udfff]")


def checked_line(text: str, field: str, longest: int) -> str:
    """One line of text that somebody can read."""
    if not text.strip() or len(text) > longest or _UNREADABLE.search(text):
        raise BadInput(
            f"{field} must be 1 to {longest} characters, not all blank, without control characters", field=field
        )
    return text


def checked_text(text: str, field: str, longest: int) -> str:
    """Any text, of any number of lines."""
    if len(text) > longest or _HALF.search(text):
        raise BadInput(f"{field} must be at most {longest} whole characters", field=field)
    return text


def checked_email(email: str, field: str = "email") -> str:
    if len(email) > EMAIL_LENGTH or not _EMAIL.fullmatch(email):
        raise BadInput(f"{field} must be an address like name@host, of at most {EMAIL_LENGTH} characters", field=field)
    return email
