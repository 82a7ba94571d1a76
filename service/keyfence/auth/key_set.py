"""`KeySet`: the keys of an issuer. `VerificationKey`: one key, with the signature algorithms that it may be used for.

`FixedKeys` is a key set that never changes. Fetched keys are in `jwks_refresh.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from jwt import PyJWS
from jwt.algorithms import AllowedPublicKeys

ALGORITHMS_BY_KEY_TYPE: Mapping[str, frozenset[str]] = {
    "RSA": frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    "EC P-256": frozenset({"ES256"}),
    "EC P-384": frozenset({"ES384"}),
    "EC P-521": frozenset({"ES512"}),
    "OKP Ed25519": frozenset({"EdDSA"}),
    "OKP Ed448": frozenset({"EdDSA"}),
}
"""Signature algorithms by the `kty` of a key and, except for RSA, its `crv`."""

ACCEPTED_ALGORITHMS = frozenset[str]().union(*ALGORITHMS_BY_KEY_TYPE.values())
_JWS = PyJWS(algorithms=sorted(ACCEPTED_ALGORITHMS))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationKey:
    """A public key of an issuer, with the algorithms that it may be used for."""

    kid: str
    public_key: AllowedPublicKeys
    algorithms: frozenset[str]

    def verifies(self, content: bytes, *, algorithm: str, signature: bytes) -> bool:
        """Whether the signature is valid.

        The algorithm comes from the token, so anybody can choose it. If the key must not be used for the algorithm, the
        signature counts as not valid."""
        if algorithm not in self.algorithms:
            return False
        return _JWS.get_algorithm_by_name(algorithm).verify(content, self.public_key, signature)


KeysById = Mapping[str, VerificationKey]
"""Keys by their `kid`."""


def reuse_unchanged_keys(before: KeysById, after: KeysById) -> KeysById:
    """Returns the keys of `after`. A key that equals the key in `before` is returned as the object from `before`.

    So `KeySet.contains`, which runs for every request, can compare objects by identity."""
    return {kid: before[kid] if before.get(kid) == key else key for kid, key in after.items()}


class KeySet(Protocol):
    """The keys that an issuer signs with."""

    async def find(self, kid: str) -> VerificationKey | None:
        """Returns the key with this id, or None if the issuer has no such key. Keys that are too old are fetched
        first."""
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
