"""Checks of text that comes from outside: lines, free text, email addresses, URLs."""

import ipaddress
import re
from urllib.parse import urlsplit

from keyfence.errors import BadInput

EMAIL_LENGTH = 254

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f\ud800-\udfff]+@[^@\s\x00-\x1f\x7f\ud800-\udfff]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def checked_line(text: str, field: str, max_length: int) -> str:
    """Return the text if it is one line that is not blank. Raises BadInput."""
    if not text.strip() or len(text) > max_length or _CONTROL.search(text):
        raise BadInput(
            f"{field} must be 1 to {max_length} characters, not all blank, without control characters", field=field
        )
    return text


def checked_text(text: str, field: str, max_length: int) -> str:
    """Return the text if it is not too long and has no half of a surrogate pair. Raises BadInput."""
    if len(text) > max_length or _SURROGATE.search(text):
        raise BadInput(f"{field} must be at most {max_length} whole characters", field=field)
    return text


def checked_email(email: str, field: str = "email") -> str:
    if len(email) > EMAIL_LENGTH or not _EMAIL.fullmatch(email):
        raise BadInput(f"{field} must be an address like name@host, of at most {EMAIL_LENGTH} characters", field=field)
    return email


def is_http_url(url: str) -> bool:
    return _scheme_and_host(url) is not None


def is_https_or_loopback_url(url: str) -> bool:
    """Whether what the URL returns cannot be changed on the way: it is https, or the host is this machine."""
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
