"""A sample export of ten items in three gzip members, and its certificate."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyfence.jobs.job_record import Job, JobId, JobKind, new_job
from keyfence.jobs.offboard.certificate import CertificateSigner, sign_certificate, verify_certificate
from keyfence.jobs.offboard.export_file import ExportFile, chain_lines, digest_export, initial_hash
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState
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


def job() -> Job:
    return replace(new_job(JobKind.OFFBOARD, TenantId("acme"), created_by="ann", created_at=AT), id=JobId("job_1"))


def state(**changes: Any) -> OffboardingState:
    made = OffboardingState(
        tenant=TenantId("acme"),
        export_name=EXPORT,
        phase=OffboardingPhase.CERTIFYING,
        exported_count=10,
        purged_count=10,
    )
    return replace(made, **changes)


def certified(directory: Path, signer: CertificateSigner = SIGNER) -> tuple[Mapping[str, Any], Path]:
    path = written(directory)
    text = sign_certificate(job(), state(), digest_export(path, EXPORT), "keyfence", AT, signer)
    (directory / "certificate").write_text(text)
    return verify_certificate(text, signer.verifier), path
