"""`KeySet`: the keys of an issuer. `FixedKeys` never change; `jwks_refresh.py` has keys that are fetched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from keyfence.auth.signature_algorithms import VerificationKey

Keys = Mapping[str, VerificationKey]


def keep_unchanged(before: Keys, after: Keys) -> Keys:
    """Returns the new keys. Unchanged keys stay the same objects, so that `contains` can compare by identity."""
    return {kid: before[kid] if before.get(kid) == key else key for kid, key in after.items()}


class KeySet(Protocol):
    """The keys that an issuer signs with."""

    async def find(self, kid: str) -> VerificationKey | None:
        """Returns the key with this id, after a refresh if necessary."""
        ...

    def contains(self, key: VerificationKey) -> bool:
        """Whether this key object is still valid, as far as is known without a refresh."""
        ...


@dataclass(frozen=True, slots=True)
class FixedKeys:
    """Keys that are part of the settings or of a tenant's record."""

    keys: Keys

    async def find(self, kid: str) -> VerificationKey | None:
        return self.keys.get(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self.keys.get(key.kid) is key
