"""Checks of what callers send that every noun needs."""

import re

from service.errors import BadInput

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def checked_line(text: str, field: str, longest: int) -> str:
    """One line of text that somebody can read."""
    if not text.strip() or len(text) > longest or _CONTROL.search(text):
        raise BadInput(
            f"{field} must be 1 to {longest} characters, not all blank, without control characters", field=field
        )
    return text
