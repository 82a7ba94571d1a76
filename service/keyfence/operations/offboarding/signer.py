"""Who signs certificates of offboarding, and who checks them: one Ed25519 key and its public half."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from keyfence.development import MARK
from keyfence.errors import BadInput

ALGORITHM = "EdDSA"
TYPE = "keyfence-offboarding+jws"
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Verifier:
    """Knows certificates that were signed with one key."""

    public: Ed25519PublicKey
    mark: str = ""

    @property
    def kid(self) -> str:
        return self.mark + hashlib.sha256(self.public.public_bytes_raw()).hexdigest()[:24]

    @property
    def text(self) -> str:
        """The key as `verifier` takes it."""
        return base64.urlsafe_b64encode(self.public.public_bytes_raw()).decode().rstrip("=")

    def claims(self, signed: str) -> dict[str, object]:
        """What was signed, or BadInput."""
        try:
            claims: dict[str, object] = jwt.decode(signed, self.public, algorithms=[ALGORITHM])
        except jwt.PyJWTError as error:
            raise BadInput(f"the certificate was not signed with the key {self.kid}: {error}") from error
        return claims


@dataclass(frozen=True, slots=True)
class Signer:
    """The same claims give the same signature, always."""

    key: Ed25519PrivateKey
    mark: str = ""

    @property
    def verifier(self) -> Verifier:
        return Verifier(self.key.public_key(), self.mark)

    def sign(self, claims: Mapping[str, object]) -> str:
        headers = {"kid": self.verifier.kid, "typ": TYPE}
        return jwt.encode(dict(claims), self.key, algorithm=ALGORITHM, headers=headers)


def signer(text: str) -> Signer:
    """From PEM, or from the key's 32 bytes in URL-safe base64; one for development has its mark before it."""
    mark = MARK if text.startswith(MARK) else ""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = load_pem_private_key(text.encode(), password=None)
        else:
            key = Ed25519PrivateKey.from_private_bytes(_decoded(text.removeprefix(mark)))
    except (ValueError, TypeError) as error:
        raise BadInput("the signing key is neither PEM nor 32 bytes in URL-safe base64") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput("the signing key is not an Ed25519 key")
    return Signer(key, mark)


def verifier(text: str) -> Verifier:
    """From PEM, or from the public key's 32 bytes in URL-safe base64."""
    mark = MARK if text.startswith(MARK) else ""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = load_pem_public_key(text.encode())
        else:
            key = Ed25519PublicKey.from_public_bytes(_decoded(text.removeprefix(mark)))
    except (ValueError, TypeError) as error:
        raise BadInput("the public key is neither PEM nor 32 bytes in URL-safe base64") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput("the public key is not an Ed25519 key")
    return Verifier(key, mark)


def _decoded(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text.strip() + "=" * (-len(text.strip()) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if len(decoded) != KEY_BYTES:
        raise ValueError("not a key's length")
    return decoded
