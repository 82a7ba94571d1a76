"""The keys of an issuer that a tenant owns: good for as long as what is known of their owner is fresh."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from keyfence.auth.keyset import FixedKeys, KeySet
from keyfence.auth.signing_key import SigningKey

LookAgain = Callable[["OwnedKeys"], Awaitable[None]]


@dataclass(slots=True, eq=False, kw_only=True)
class OwnedKeys:
    """`seen_at` is when it was last asked whose they are.

    A kid that is unknown may be of a key that was given to us just now, so somebody looks again before it is called
    wrong."""

    keys: KeySet
    max_age: float
    clock: Callable[[], float]
    look_again: LookAgain
    seen_at: float = -math.inf

    async def find(self, kid: str) -> SigningKey | None:
        if (key := await self.keys.find(kid)) is not None:
            return key
        await self.look_again(self)
        return await self.keys.find(kid)

    def holds(self, key: SigningKey) -> bool:
        return self.is_fresh() and self.keys.holds(key)

    def is_fresh(self) -> bool:
        return self.clock() - self.seen_at < self.max_age

    def end(self) -> None:
        """They are nobody's any more, or somebody else's."""
        self.keys = FixedKeys({})
