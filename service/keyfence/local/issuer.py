"""The local identity provider: it signs development tokens, which `keyfence dev` accepts and production refuses."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm
from ulid import ULID

from keyfence.auth.principal import Role
from keyfence.development import DEVELOPMENT_KEY_PREFIX, LOCAL_ISSUER
from keyfence.local.data_directory import corrupt, load_or_create_secret

AUDIENCE = "keyfence"
ADMIN_AUDIENCE = "keyfence-admin"
FILE = "issuer-key.pem"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalIssuer:
    """Signs with one P-256 key; the key id is the key's thumbprint (RFC 7638) behind `dev-`."""

    key: ec.EllipticCurvePrivateKey
    issuer: str = LOCAL_ISSUER

    @property
    def kid(self) -> str:
        required = {name: self._public()[name] for name in ("crv", "kty", "x", "y")}
        canonical = json.dumps(required, sort_keys=True, separators=(",", ":")).encode()
        return f"{DEVELOPMENT_KEY_PREFIX}{hashlib.sha256(canonical).hexdigest()[:24]}"

    def jwks(self) -> dict[str, object]:
        return {"keys": [{**self._public(), "kid": self.kid, "alg": "ES256", "use": "sig"}]}

    def token(
        self, *, tenant: str, user: str, role: Role = Role.MEMBER, ttl: int = 3600, scopes: Sequence[str] = ()
    ) -> str:
        return self._sign({"aud": AUDIENCE, "sub": user, "tenant": tenant, "role": role}, ttl, scopes)

    def admin_token(self, *, user: str = "local-operator", ttl: int = 3600) -> str:
        return self._sign({"aud": ADMIN_AUDIENCE, "sub": user}, ttl, ())

    def _sign(self, claims: dict[str, object], ttl: int, scopes: Sequence[str]) -> str:
        now = int(time.time())
        scope = {"scope": " ".join(scopes)} if scopes else {}
        stamped = {"iss": self.issuer, "iat": now, "exp": now + ttl, "jti": str(ULID())}
        return jwt.encode({**stamped, **claims, **scope}, self.key, algorithm="ES256", headers={"kid": self.kid})

    def _public(self) -> dict[str, object]:
        return ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)


def local_issuer(directory: Path) -> LocalIssuer:
    """The issuer of this data directory; its key is made on first use."""
    path = directory / FILE
    try:
        key = load_pem_private_key(load_or_create_secret(path, _make), password=None)
    except ValueError as error:
        raise corrupt(path, "a private key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise corrupt(path, "a P-256 key")
    return LocalIssuer(key=key)


def _make() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
