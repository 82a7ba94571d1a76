"""Token issuers of a development machine. `keyfence dev` accepts their tokens, and production refuses them."""

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
from keyfence.development_keys import DEVELOPMENT_ISSUER, DEVELOPMENT_KEY_PREFIX
from keyfence.errors import BadInput
from keyfence.local.data_directory import ISSUER_KEY_FILE, check_format, corrupt_key_file, load_or_create_key

AUDIENCE = "keyfence"
ADMIN_AUDIENCE = "keyfence-admin"
TENANT_ISSUERS = "issuers"
"""The folder with the keys of issuers that belong to single tenants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevelopmentIssuer:
    """Signs tokens with one P-256 key. The key id is `dev-` and the first digits of the key's thumbprint (RFC 7638)."""

    key: ec.EllipticCurvePrivateKey
    issuer: str = DEVELOPMENT_ISSUER

    @property
    def kid(self) -> str:
        required_members = {name: self._public_key()[name] for name in ("crv", "kty", "x", "y")}
        canonical = json.dumps(required_members, sort_keys=True, separators=(",", ":")).encode()
        return f"{DEVELOPMENT_KEY_PREFIX}{hashlib.sha256(canonical).hexdigest()[:24]}"

    def jwks(self) -> dict[str, object]:
        return {"keys": [{**self._public_key(), "kid": self.kid, "alg": "ES256", "use": "sig"}]}

    def token(
        self, *, tenant: str, user: str, role: Role = Role.MEMBER, ttl: int = 3600, scopes: Sequence[str] = ()
    ) -> str:
        return self._sign({"aud": AUDIENCE, "sub": user, "tenant": tenant, "role": role}, ttl, scopes)

    def admin_token(self, *, user: str = "local-operator", ttl: int = 3600) -> str:
        return self._sign({"aud": ADMIN_AUDIENCE, "sub": user}, ttl, ())

    def _sign(self, claims: dict[str, object], ttl: int, scopes: Sequence[str]) -> str:
        now = int(time.time())
        scope = {"scope": " ".join(scopes)} if scopes else {}
        registered_claims = {"iss": self.issuer, "iat": now, "exp": now + ttl, "jti": str(ULID())}
        return jwt.encode(
            {**registered_claims, **claims, **scope}, self.key, algorithm="ES256", headers={"kid": self.kid}
        )

    def _public_key(self) -> dict[str, object]:
        return ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)


def load_development_issuer(directory: Path) -> DevelopmentIssuer:
    """Returns the issuer that `keyfence dev` trusts for all tenants. Its key is created on first use."""
    return DevelopmentIssuer(key=_load_key(directory, ISSUER_KEY_FILE))


def create_tenant_issuer(directory: Path, issuer: str) -> DevelopmentIssuer:
    """Returns the issuer with this URL, for a tenant that has its own issuer. The key is created on first use."""
    return DevelopmentIssuer(key=_load_key(directory, _key_file(issuer)), issuer=issuer)


def get_tenant_issuer(directory: Path, issuer: str) -> DevelopmentIssuer:
    """Returns an issuer that was created before. Raises BadInput if the data directory has no key of the issuer."""
    if not (directory / _key_file(issuer)).exists():
        raise BadInput(
            f"The data directory {directory} has no key of the issuer {issuer}: create one with"
            f" `keyfence jwks --issuer {issuer}`."
        )
    check_format(directory)
    return create_tenant_issuer(directory, issuer)


def _key_file(issuer: str) -> str:
    return f"{TENANT_ISSUERS}/{hashlib.sha256(issuer.encode(errors='replace')).hexdigest()[:24]}.pem"


def _load_key(directory: Path, file_name: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(load_or_create_key(directory, file_name, _new_key_pem), password=None)
    except ValueError as error:
        raise corrupt_key_file(directory / file_name, "a private key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise corrupt_key_file(directory / file_name, "a P-256 key")
    return key


def _new_key_pem() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
