"""A JSON Web Key Set, read into signing keys by their kid."""

from collections import Counter
from collections.abc import Iterable, Mapping

from keyfence.auth.signing_key import SigningKey, UnusableKey, signing_key


class MalformedJwks(ValueError):
    """A document that is not a key set at all."""


def usable_keys(document: object) -> Mapping[str, SigningKey]:
    """What we can use of a set that somebody else publishes. A kid that stands for two keys stands for neither."""
    keys = [key for key in map(_find_signing_key, _entries(document)) if key is not None]
    shared = _shared_kids(keys)
    return {key.kid: key for key in keys if key.kid not in shared}


def demanded_keys(document: object) -> Mapping[str, SigningKey]:
    """A set that was written for us: every key in it must be usable, or its author is told why not."""
    keys = [signing_key(entry) for entry in _entries(document)]
    if not keys:
        raise MalformedJwks("a JWKS has at least one key")
    if shared := _shared_kids(keys):
        raise MalformedJwks(f"a JWKS has two keys under one kid: {', '.join(sorted(shared))}")
    return {key.kid: key for key in keys}


def _entries(document: object) -> list[object]:
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise MalformedJwks("a JWKS is a JSON object with a list of keys")
    return entries


def _find_signing_key(entry: object) -> SigningKey | None:
    try:
        return signing_key(entry)
    except UnusableKey:
        return None


def _shared_kids(keys: Iterable[SigningKey]) -> frozenset[str]:
    return frozenset(kid for kid, count in Counter(key.kid for key in keys).items() if count > 1)
