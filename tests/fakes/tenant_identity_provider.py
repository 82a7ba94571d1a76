"""The identity provider of one tenant."""

import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from ulid import ULID

from keyfence.auth.principal import Role


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantIdentityProvider:
    """Publishes one key, and signs tokens with it."""

    issuer: str
    kid: str = "key-1"
    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)

    def jwks(self) -> dict[str, Any]:
        public = ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": self.kid, "alg": "ES256", "use": "sig"}]}

    def token(self, *, tenant: str, user: str = "somebody", role: Role = Role.OWNER, **claims: object) -> str:
        now = int(time.time())
        standard_claims = {"iss": self.issuer, "aud": "keyfence", "iat": now, "exp": now + 600, "jti": str(ULID())}
        keyfence_claims = {"sub": user, "tenant": tenant, "role": role}
        return jwt.encode(
            {**standard_claims, **keyfence_claims, **claims}, self.key, algorithm="ES256", headers={"kid": self.kid}
        )
