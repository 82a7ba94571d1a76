"""The certificate of an offboarding: `CertificateSigner` signs it, `verify_certificate` verifies it."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from keyfence.development_keys import DEVELOPMENT_KEY_PREFIX
from keyfence.errors import BadInput, Conflict
from keyfence.jobs.job_record import Job
from keyfence.jobs.offboard.export_file import SUFFIX, ExportDamaged, ExportDigest, digest_export
from keyfence.jobs.offboard.offboarding_phases import OffboardingState
from keyfence.store.timestamps import timestamp_text
from keyfence_iam import strict_json

ALGORITHM = "EdDSA"
JWS_TYPE = "keyfence-offboarding+jws"
ISSUER = "keyfence"
KEY_BYTES = 32
"""The length of an Ed25519 key, private or public."""


@dataclass(frozen=True, slots=True)
class CertificateVerifier:
    """Verifies certificates that were signed with one key."""

    public_key: Ed25519PublicKey
    key_prefix: str = ""
    """DEVELOPMENT_KEY_PREFIX for a development key, otherwise empty."""

    @property
    def kid(self) -> str:
        """The id of the key: a part of its hash."""
        return self.key_prefix + hashlib.sha256(self.public_key.public_bytes_raw()).hexdigest()[:24]

    @property
    def public_key_text(self) -> str:
        """The public key in URL-safe base64, which `parse_verifier` accepts."""
        return base64.urlsafe_b64encode(self.public_key.public_bytes_raw()).decode().rstrip("=")

    def verify(self, signed: str) -> dict[str, object]:
        """Returns the signed claims. Raises BadInput if they were not signed with this key."""
        try:
            claims: dict[str, object] = jwt.decode(signed, self.public_key, algorithms=[ALGORITHM])
        except jwt.PyJWTError as error:
            raise BadInput(f"the certificate was not signed with the key {self.kid}: {error}") from error
        return claims


@dataclass(frozen=True, slots=True)
class CertificateSigner:
    """Signs claims. The same claims always give the same signature."""

    private_key: Ed25519PrivateKey
    key_prefix: str = ""
    """DEVELOPMENT_KEY_PREFIX for a development key, otherwise empty."""

    @property
    def verifier(self) -> CertificateVerifier:
        return CertificateVerifier(self.private_key.public_key(), self.key_prefix)

    def sign(self, claims: Mapping[str, object]) -> str:
        """Returns a JWS in its compact form."""
        headers = {"kid": self.verifier.kid, "typ": JWS_TYPE}
        return jwt.encode(dict(claims), self.private_key, algorithm=ALGORITHM, headers=headers)


def parse_signer(text: str) -> CertificateSigner:
    """Reads a private key from PEM or from its 32 bytes in URL-safe base64. A development key has a prefix.

    Raises BadInput if the text is no such key."""
    key_prefix = DEVELOPMENT_KEY_PREFIX if text.startswith(DEVELOPMENT_KEY_PREFIX) else ""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = load_pem_private_key(text.encode(), password=None)
        else:
            key = Ed25519PrivateKey.from_private_bytes(_decode_key(text.removeprefix(key_prefix)))
    except (ValueError, TypeError) as error:
        raise BadInput("the signing key is neither PEM nor 32 bytes in URL-safe base64") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput("the signing key is not an Ed25519 key")
    return CertificateSigner(key, key_prefix)


def parse_verifier(text: str) -> CertificateVerifier:
    """Reads a public key from PEM or from its 32 bytes in URL-safe base64. Raises BadInput if it is no such key."""
    key_prefix = DEVELOPMENT_KEY_PREFIX if text.startswith(DEVELOPMENT_KEY_PREFIX) else ""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = load_pem_public_key(text.encode())
        else:
            key = Ed25519PublicKey.from_public_bytes(_decode_key(text.removeprefix(key_prefix)))
    except (ValueError, TypeError) as error:
        raise BadInput("the public key is neither PEM nor 32 bytes in URL-safe base64") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput("the public key is not an Ed25519 key")
    return CertificateVerifier(key, key_prefix)


def _decode_key(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text.strip() + "=" * (-len(text.strip()) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("the key is not base64") from error
    if len(decoded) != KEY_BYTES:
        raise ValueError(f"the key does not have {KEY_BYTES} bytes")
    return decoded


def sign_certificate(
    job: Job,
    state: OffboardingState,
    digest: ExportDigest,
    table: str,
    finished_at: datetime,
    signer: CertificateSigner,
) -> str:
    """Returns the text of a certificate: JSON with the claims twice, once readable for people and once signed.

    `table` is the name of the shared table."""
    claims = {
        "iss": ISSUER,
        "tenant": job.tenant,
        "job": job.id,
        "table": table,
        "silo": state.silo_table,
        "operator": job.created_by,
        "export": state.export_name,
        "exported": digest.lines,
        "chainHash": digest.chain_hash,
        "size": digest.size,
        "sha256": digest.sha256,
        "purged": state.purged_count,
        "rounds": state.round,
        "startedAt": timestamp_text(job.created_at),
        "finishedAt": timestamp_text(finished_at),
    }
    document = {"claims": claims, "key": signer.verifier.kid, "signed": signer.sign(claims)}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def certificate_path(directory: Path, export: str) -> Path:
    """Returns where the certificate of an export file is written."""
    return directory / f"{export.removesuffix(SUFFIX)}.certificate.json"


def verify_certificate(text: str | bytes, verifier: CertificateVerifier) -> Mapping[str, Any]:
    """Returns the signed claims. Raises BadInput if the text is not a certificate of this key, and Conflict if the
    readable claims differ from the signed claims."""
    try:
        document = _parse_certificate(text)
        readable, signed = document["claims"], str(document["signed"])
    except ValueError as error:
        raise BadInput("this is not a certificate of an offboarding") from error
    claims = verifier.verify(signed)
    if orjson.dumps(claims, option=orjson.OPT_SORT_KEYS) != orjson.dumps(readable, option=orjson.OPT_SORT_KEYS):
        raise Conflict("the readable claims of the certificate differ from the signed claims")
    return claims


def _parse_certificate(text: str | bytes) -> Mapping[str, Any]:
    """Parses the JSON. A duplicate name raises ValueError: people could read one value and machines the other."""
    document = strict_json.parse(text)
    if not isinstance(document, dict) or set(document) != {"claims", "key", "signed"}:
        raise ValueError("a certificate has claims, a key and a signature")
    return document


def compare_export(claims: Mapping[str, Any], export: Path) -> None:
    """Raises ExportDamaged, with the first wrong line, if the file is not the one that was certified."""
    digest = digest_export(export, str(claims["export"]))
    if digest.lines < claims["exported"]:
        raise ExportDamaged(
            f"{export} ends after line {digest.lines:,} of {claims['exported']:,}", line=digest.lines + 1
        )
    if digest.lines > claims["exported"]:
        line = claims["exported"] + 1
        raise ExportDamaged(f"{export} has more lines than were certified, from line {line:,} on", line=line)
    if digest.chain_hash != claims["chainHash"]:
        raise ExportDamaged(
            f"the lines of {export} are a consistent chain, but not the certified one: the file was written again",
            line=1,
        )
    if (digest.size, digest.sha256) != (claims["size"], claims["sha256"]):
        raise ExportDamaged(f"{export} has the certified lines, but in other bytes than were certified", line=None)
