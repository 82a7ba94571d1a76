"""Checks text of callers and settings: single lines, free text, URLs, and origins of web pages."""

import ipaddress
import re
from urllib.parse import urlsplit

from keyfence.errors import BadInput

_NOT_IN_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HTTPS_ORIGIN = re.compile(r"https://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")
LOCAL_ORIGINS = "http://localhost:*"
"""The setting that allows web pages of this machine, on every port. It is only for development."""
_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Half of a surrogate pair. JSON can contain it, but UTF-8 cannot encode it."""


def checked_line(text: str, field: str, max_length: int) -> str:
    """Returns the text. Raises BadInput if it is blank, too long, or has control characters such as line breaks."""
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


def checked_origin(text: str) -> str:
    """Returns the origin of web pages. Raises BadInput unless it is exactly what browsers send, with https."""
    if not is_https_origin(text):
        raise BadInput(
            f"{text!r} is not an origin like https://app.example.com: write https, the host in lower case, the port if "
            "it is not 443, and nothing after it",
            field="origins",
        )
    return text


def is_https_origin(text: str) -> bool:
    return _HTTPS_ORIGIN.fullmatch(text) is not None and not text.endswith(":443")


def is_http_url(url: str) -> bool:
    return _scheme_and_host(url) is not None


def is_https_or_loopback_url(url: str) -> bool:
    """Whether the URL is https or its host is this machine, so that nobody can change the response on the way."""
    scheme_and_host = _scheme_and_host(url)
    if scheme_and_host is None:
        return False
    scheme, host = scheme_and_host
    return scheme == "https" or is_loopback_host(host)


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
