"""The signed certificate of an offboarding, and its verification."""

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
from keyfence.jobs.offboard.offboarding_state import OffboardingState
from keyfence.store.timestamps import timestamp_text
from keyfence_iam import strict_json

ALGORITHM = "EdDSA"
TYPE = "keyfence-offboarding+jws"
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class CertificateVerifier:
    """Verifies certificates that were signed with one key."""

    public: Ed25519PublicKey
    mark: str = ""

    @property
    def kid(self) -> str:
        return self.mark + hashlib.sha256(self.public.public_bytes_raw()).hexdigest()[:24]

    @property
    def text(self) -> str:
        """The public key in the form that `verifier` takes."""
        return base64.urlsafe_b64encode(self.public.public_bytes_raw()).decode().rstrip("=")

    def claims(self, signed: str) -> dict[str, object]:
        """Returns the signed claims. Raises BadInput if the signature is not from this key."""
        try:
            claims: dict[str, object] = jwt.decode(signed, self.public, algorithms=[ALGORITHM])
        except jwt.PyJWTError as error:
            raise BadInput(f"the certificate was not signed with the key {self.kid}: {error}") from error
        return claims


@dataclass(frozen=True, slots=True)
class CertificateSigner:
    """Signs claims. The same claims always give the same signature."""

    key: Ed25519PrivateKey
    mark: str = ""

    @property
    def verifier(self) -> CertificateVerifier:
        return CertificateVerifier(self.key.public_key(), self.mark)

    def sign(self, claims: Mapping[str, object]) -> str:
        headers = {"kid": self.verifier.kid, "typ": TYPE}
        return jwt.encode(dict(claims), self.key, algorithm=ALGORITHM, headers=headers)


def signer(text: str) -> CertificateSigner:
    """Reads a private key from PEM or from its 32 bytes in URL-safe base64. A development key has a prefix."""
    mark = DEVELOPMENT_KEY_PREFIX if text.startswith(DEVELOPMENT_KEY_PREFIX) else ""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = load_pem_private_key(text.encode(), password=None)
        else:
            key = Ed25519PrivateKey.from_private_bytes(_decoded(text.removeprefix(mark)))
    except (ValueError, TypeError) as error:
        raise BadInput("the signing key is neither PEM nor 32 bytes in URL-safe base64") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput("the signing key is not an Ed25519 key")
    return CertificateSigner(key, mark)


def verifier(text: str) -> CertificateVerifier:
    """Reads a public key from PEM or from its 32 bytes in URL-safe base64."""
    mark = DEVELOPMENT_KEY_PREFIX if text.startswith(DEVELOPMENT_KEY_PREFIX) else ""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = load_pem_public_key(text.encode())
        else:
            key = Ed25519PublicKey.from_public_bytes(_decoded(text.removeprefix(mark)))
    except (ValueError, TypeError) as error:
        raise BadInput("the public key is neither PEM nor 32 bytes in URL-safe base64") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadInput("the public key is not an Ed25519 key")
    return CertificateVerifier(key, mark)


def _decoded(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text.strip() + "=" * (-len(text.strip()) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if len(decoded) != KEY_BYTES:
        raise ValueError("not a key's length")
    return decoded


ISSUER = "keyfence"


def certificate(
    job: Job,
    state: OffboardingState,
    digest: ExportDigest,
    table: str,
    finished_at: datetime,
    signer: CertificateSigner,
) -> str:
    """Returns JSON that contains the claims twice: once readable for people, once signed."""
    claims = {
        "iss": ISSUER,
        "tenant": job.tenant,
        "job": job.id,
        "table": table,
        "silo": state.silo,
        "operator": job.created_by,
        "export": state.export,
        "exported": digest.lines,
        "chainHash": digest.chain_hash,
        "size": digest.size,
        "sha256": digest.sha256,
        "purged": state.purged,
        "rounds": state.round,
        "startedAt": timestamp_text(job.created_at),
        "finishedAt": timestamp_text(finished_at),
    }
    whole = {"claims": claims, "key": signer.verifier.kid, "signed": signer.sign(claims)}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode()


def certificate_file(directory: Path, export: str) -> Path:
    return directory / f"{export.removesuffix(SUFFIX)}.certificate.json"


def verify_certificate(text: str | bytes, by: CertificateVerifier) -> Mapping[str, Any]:
    """Returns the signed claims. Raises Conflict if the readable claims differ from them."""
    try:
        read = _members(text)
        shown, signed = read["claims"], str(read["signed"])
    except ValueError as error:
        raise BadInput("this is not a certificate of an offboarding") from error
    claims = by.claims(signed)
    if orjson.dumps(claims, option=orjson.OPT_SORT_KEYS) != orjson.dumps(shown, option=orjson.OPT_SORT_KEYS):
        raise Conflict("the readable claims of the certificate differ from the signed claims")
    return claims


def _members(text: str | bytes) -> Mapping[str, Any]:
    """Rejects a duplicate name: people could read one value and machines the other."""
    read = strict_json.parse(text)
    if not isinstance(read, dict) or set(read) != {"claims", "key", "signed"}:
        raise ValueError("a certificate has claims, a key and a signature")
    return read


def compare_export(claims: Mapping[str, Any], export: Path) -> None:
    """Raises ExportDamaged, with the first wrong line, if the file is not the one that was certified."""
    found = digest_export(export, str(claims["export"]))
    if found.lines < claims["exported"]:
        raise ExportDamaged(f"{export} ends after line {found.lines:,} of {claims['exported']:,}", line=found.lines + 1)
    if found.lines > claims["exported"]:
        line = claims["exported"] + 1
        raise ExportDamaged(f"{export} has more lines than were certified, from line {line:,} on", line=line)
    if found.chain_hash != claims["chainHash"]:
        raise ExportDamaged(
            f"the lines of {export} are consistent, but not those that were certified: they were written again", line=1
        )
    if (found.size, found.sha256) != (claims["size"], claims["sha256"]):
        raise ExportDamaged(f"{export} has the certified lines, but in other bytes than were certified", line=None)
