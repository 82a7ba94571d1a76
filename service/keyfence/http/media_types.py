"""Content negotiation: chooses the media type of a response, and checks that a body is JSON."""

from enum import StrEnum
from functools import lru_cache

CACHE_SIZE = 256
"""How many different values of each header are cached. Clients send few different values."""
MAX_HEADER_LENGTH = 1_000
"""How many characters of a header are read. The rest is ignored, so that long headers do not fill the cache."""


FULL_NAME_PRECISION = 2
"""Ranges in an Accept header have a precision. `*/*` has 0, `application/*` has 1, and a whole media type has 2."""


class MediaType(StrEnum):
    """The media types of responses. A caller whose Accept header prefers neither of them gets JSON."""

    GRAPHQL = "application/graphql-response+json"
    JSON = "application/json"


def negotiate(accept: str | None) -> MediaType | None:
    """Returns the media type for an Accept header, or None if the header accepts neither media type."""
    return _negotiate((accept or "*/*")[:MAX_HEADER_LENGTH])


def prefers_html(accept: str | None) -> bool:
    return _prefers_html((accept or "*/*")[:MAX_HEADER_LENGTH])


def is_json(content_type: str | None) -> bool:
    """Whether a Content-Type header says JSON in UTF-8. A header without a charset means UTF-8."""
    return _is_json((content_type or "")[:MAX_HEADER_LENGTH])


@lru_cache(CACHE_SIZE)
def _negotiate(accept: str) -> MediaType | None:
    best = max(MediaType, key=lambda media: _rank(accept, media))
    return best if _quality_and_precision(accept, best)[0] > 0 else None


@lru_cache(CACHE_SIZE)
def _prefers_html(accept: str) -> bool:
    html_preference = _quality_and_precision(accept, "text/html")
    return html_preference[0] > 0 and html_preference > max(
        _quality_and_precision(accept, media) for media in MediaType
    )


@lru_cache(CACHE_SIZE)
def _is_json(content_type: str) -> bool:
    media_type, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = {value for name, value in map(_parse_parameter, parameters) if name == "charset"}
    return media_type == MediaType.JSON and charsets <= {"utf-8", "utf8"}


def _rank(accept: str, media: MediaType) -> tuple[float, int, bool]:
    """Returns the sort key of a media type. The best media type has the greatest key.

    The key compares the quality first, and then the precision of the range. If two media types are still equal, GRAPHQL
    is better if the header names them, and JSON is better if they match a wildcard."""
    quality, precision = _quality_and_precision(accept, media)
    is_named = precision == FULL_NAME_PRECISION
    return quality, precision, (media is MediaType.GRAPHQL) is is_named


def _quality_and_precision(accept: str, media: str) -> tuple[float, int]:
    """Finds the most precise range of the header that matches the media type. Returns its quality and its precision."""
    main_type = media.partition("/")[0]
    precision_by_range = {"*/*": 0, f"{main_type}/*": 1, media: FULL_NAME_PRECISION}
    matching = [(precision_by_range[name], quality) for name, quality in _ranges(accept) if name in precision_by_range]
    precision, quality = max(matching, default=(0, 0.0))
    return quality, precision


def _ranges(accept: str) -> list[tuple[str, float]]:
    """Returns the media ranges of an Accept header, such as `text/*`, each with its quality."""
    return [_parse_range(text) for text in accept.lower().split(",")]


def _parse_range(text: str) -> tuple[str, float]:
    name, *parameters = [part.strip() for part in text.split(";")]
    return name, _parse_quality(dict(map(_parse_parameter, parameters)).get("q", "1"))


def _parse_parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _parse_quality(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else 0.0
