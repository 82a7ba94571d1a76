"""A place where an issuer publishes its key set, and how it is fetched from there."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from keyfence.auth.http_get import BOUNDS, Bounds, Unavailable, bounded_get
from keyfence.auth.jwks import usable_keys
from keyfence.auth.reach import ANYWHERE, Place, Reach
from keyfence.auth.signing_key import SigningKey

MAX_KEYS = 64


class JwksUnavailable(Exception):
    """The key set could not be had; the message is for the log."""


@dataclass(frozen=True, slots=True)
class JwksSource:
    place: Place
    reach: Reach = ANYWHERE
    bounds: Bounds = BOUNDS

    def fetch(self) -> Mapping[str, SigningKey]:
        """Blocks for seconds at worst: call it in a thread."""
        try:
            keys = usable_keys(orjson.loads(bounded_get(self.place, self.reach, self.bounds)))
        except Unavailable as error:
            raise JwksUnavailable(str(error)) from error
        except ValueError as error:
            raise JwksUnavailable(type(error).__name__) from error
        if len(keys) > MAX_KEYS:
            raise JwksUnavailable(f"more than {MAX_KEYS} keys")
        return keys
