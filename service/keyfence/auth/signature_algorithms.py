"""The accepted signature algorithms by key type, and `VerificationKey`, which verifies a signature."""

from collections.abc import Mapping
from dataclasses import dataclass

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

        The caller takes the algorithm from the token, so anybody can choose it. If the key does not
        allow the algorithm, the signature counts as not valid."""
        if algorithm not in self.algorithms:
            return False
        return _JWS.get_algorithm_by_name(algorithm).verify(content, self.public_key, signature)
