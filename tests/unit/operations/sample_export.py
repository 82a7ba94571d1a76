"""An export of ten things in three members, and its certificate."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyfence.jobs.offboard.certificate import CertificateSigner, certificate, verify_certificate
from keyfence.jobs.offboard.export_file import ExportFile, chain_lines, digest_export, initial_hash
from keyfence.jobs.offboard.start import OffboardingPhase, OffboardingState, job_id
from keyfence.store.codec import Item
from keyfence_iam.tenant import TenantId

EXPORT = "acme-01M7HHHGKHN6S6V7032B0W8CKZ.jsonl.gz"
SIGNER = CertificateSigner(Ed25519PrivateKey.from_private_bytes(b"a" * 32))
OTHER = CertificateSigner(Ed25519PrivateKey.from_private_bytes(b"b" * 32))
AT = datetime(2026, 11, 16, 8, tzinfo=UTC)


def item(at: int) -> Item:
    return {"PK": {"S": f"TENANT#acme#THING#{at:05}"}, "SK": {"S": "METADATA"}, "name": {"S": f"thing {at}"}}


def written(directory: Path) -> Path:
    file, head, size = ExportFile(directory / EXPORT), initial_hash(EXPORT), 0
    file.open()
    for members in (range(4), range(4, 5), range(5, 10)):
        head, lines = chain_lines(head, [item(at) for at in members])
        size = file.append(size, lines)
    file.close()
    return file.path


def job(**given: Any) -> OffboardingState:
    made = {
        "id": job_id(TenantId("acme")),
        "tenant": TenantId("acme"),
        "by": "ann",
        "export": EXPORT,
        "phase": OffboardingPhase.CERTIFYING,
        "lines": 10,
        "purged": 10,
        "created_at": AT,
        "updated_at": AT,
        "finished_at": AT,
    }
    return OffboardingState(**{**made, **given})


def certified(directory: Path, signer: CertificateSigner = SIGNER) -> tuple[Mapping[str, Any], Path]:
    path = written(directory)
    text = certificate(job(), digest_export(path, EXPORT), "keyfence", signer)
    (directory / "certificate").write_text(text)
    return verify_certificate(text, signer.verifier), path
