"""Checks text of callers and settings: single lines, free text and URLs."""

import ipaddress
import re
from urllib.parse import urlsplit

from keyfence.errors import BadInput

_NOT_IN_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half of a surrogate pair. JSON can contain it, but UTF-8 cannot encode it."""


def checked_line(text: str, field: str, max_length: int) -> str:
    """Returns the text. Raises BadInput if it is blank, too long or more than one line."""
    if not text.strip() or len(text) > max_length or _NOT_IN_A_LINE.search(text):
        raise BadInput(
            f"{field} must be 1 to {max_length} characters, not all blank, without control characters", field=field
        )
    return text


def checked_text(text: str, field: str, max_length: int) -> str:
    """Returns the text. Raises BadInput if it is too long or contains half of a surrogate pair."""
    if len(text) > max_length or _SURROGATE.search(text):
        raise BadInput(f"{field} must be at most {max_length} whole characters", field=field)
    return text


def is_http_url(url: str) -> bool:
    return _scheme_and_host(url) is not None


def is_https_or_loopback_url(url: str) -> bool:
    """Whether the URL is https or its host is this machine, so that nobody can change the response on the way."""
    parts = _scheme_and_host(url)
    return parts is not None and (parts[0] == "https" or is_loopback_host(parts[1]))


def is_loopback_host(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _scheme_and_host(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    return (parts.scheme, host) if parts.scheme in {"http", "https"} and host else None
