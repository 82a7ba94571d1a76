"""Tokens that were verified a moment ago, by their digest."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from keyfence.auth.issuer import Issuer
from keyfence.auth.signing_key import SigningKey

Caller = TypeVar("Caller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified(Generic[Caller]):
    """A caller, and all that must still hold for the token to be as good as when it was checked."""

    caller: Caller
    key: SigningKey
    issuer: Issuer
    checked_at: float
    good_until: float

    def is_current(self, now: float) -> bool:
        return self.checked_at <= now < self.good_until

    def is_proven(self) -> bool:
        """Whether its issuer still has the key, as far as is known."""
        return self.issuer.keys.holds(self.key)


class TokenCache(Generic[Caller]):
    """The least recently used goes first, so that memory is bounded."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._verified: OrderedDict[bytes, Verified[Caller]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._verified)

    def find(self, digest: bytes, now: float) -> Verified[Caller] | None:
        verified = self._verified.get(digest)
        if verified is None:
            return None
        if not verified.is_current(now):
            del self._verified[digest]
            return None
        self._verified.move_to_end(digest)
        return verified

    def drop(self, digest: bytes) -> None:
        self._verified.pop(digest, None)

    def put(self, digest: bytes, verified: Verified[Caller]) -> None:
        self._verified[digest] = verified
        self._verified.move_to_end(digest)
        if len(self._verified) > self._size:
            self._verified.popitem(last=False)
