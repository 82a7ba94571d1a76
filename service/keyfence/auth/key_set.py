"""`KeySet`: the keys of an issuer. `FixedKeys`: a key set that never changes. Fetched keys are in `jwks_refresh.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from keyfence.auth.signature_algorithms import VerificationKey

KeysById = Mapping[str, VerificationKey]
"""Keys by their `kid`."""


def reuse_unchanged_keys(before: KeysById, after: KeysById) -> KeysById:
    """Returns the keys of `after`. A key that equals the key in `before` is returned as the object from `before`.

    So `KeySet.contains`, which runs for every request, can compare objects by identity."""
    return {kid: before[kid] if before.get(kid) == key else key for kid, key in after.items()}


class KeySet(Protocol):
    """The keys that an issuer signs with."""

    async def find(self, kid: str) -> VerificationKey | None:
        """Returns the key with this id. Keys that are too old are fetched first."""
        ...

    def contains(self, key: VerificationKey) -> bool:
        """Whether the issuer still uses this key object. The answer comes from memory, without a fetch."""
        ...


@dataclass(frozen=True, slots=True)
class FixedKeys:
    """Keys that are part of the settings, or of the record of a tenant's issuer."""

    keys: KeysById

    async def find(self, kid: str) -> VerificationKey | None:
        return self.keys.get(kid)

    def contains(self, key: VerificationKey) -> bool:
        return self.keys.get(key.kid) is key
