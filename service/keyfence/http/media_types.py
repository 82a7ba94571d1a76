"""Content negotiation: the media type of a response, and whether a body is JSON."""

from enum import StrEnum
from functools import lru_cache

CACHE_SIZE = 256
MAX_HEADER = 1_000
"""Characters of a header that are read. Longer headers would fill the cache."""


class MediaType(StrEnum):
    """The media types of responses. A caller gets GRAPHQL if its Accept header names it, otherwise JSON."""

    GRAPHQL = "application/graphql-response+json"
    JSON = "application/json"


def negotiate(accept: str | None) -> MediaType | None:
    """Return the media type for an Accept header, or None if the caller accepts neither."""
    return _negotiate((accept or "*/*")[:MAX_HEADER])


def prefers_html(accept: str | None) -> bool:
    return _prefers_html((accept or "*/*")[:MAX_HEADER])


def is_json(content_type: str | None) -> bool:
    """Whether a Content-Type header means JSON in UTF-8. UTF-8 is the default charset."""
    return _is_json((content_type or "")[:MAX_HEADER])


@lru_cache(CACHE_SIZE)
def _negotiate(accept: str) -> MediaType | None:
    rank, media = max((_rank(accept, media), media) for media in MediaType)
    return media if rank[0] > 0 else None


@lru_cache(CACHE_SIZE)
def _prefers_html(accept: str) -> bool:
    html = _quality(accept, "text/html")
    return html[0] > 0 and html > max(_quality(accept, media) for media in MediaType)


@lru_cache(CACHE_SIZE)
def _is_json(content_type: str) -> bool:
    essence, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = {value for name, value in map(_parameter, parameters) if name == "charset"}
    return essence == MediaType.JSON and charsets <= {"utf-8", "utf8"}


def _rank(accept: str, media: MediaType) -> tuple[float, int, bool]:
    quality, precision = _quality(accept, media)
    return quality, precision, (media is MediaType.GRAPHQL) is (precision == 2)


def _quality(accept: str, media: str) -> tuple[float, int]:
    """Return the quality of a media type, and the precision (0 to 2) of the range that it was taken from."""
    kind = media.partition("/")[0]
    precisions = {"*/*": 0, f"{kind}/*": 1, media: 2}
    matching = [(precisions[name], quality) for name, quality in _ranges(accept) if name in precisions]
    precision, quality = max(matching, default=(0, 0.0))
    return quality, precision


def _ranges(accept: str) -> list[tuple[str, float]]:
    return [_range(text) for text in accept.lower().split(",")]


def _range(text: str) -> tuple[str, float]:
    name, *parameters = [part.strip() for part in text.split(";")]
    return name, _number(dict(map(_parameter, parameters)).get("q", "1"))


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else 0.0
