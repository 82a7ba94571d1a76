"""The record of a job, the checkpoints of its scans, and how both are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

import orjson

from keyfence.errors import BadInput
from keyfence.store.entity import entity
from keyfence.store.ids import new_id
from keyfence.store.keys import ControlKey
from keyfence_iam.tenant import TenantId

JobId = NewType("JobId", str)

JOB_ID_PREFIX = "job"
ALL_TENANTS = TenantId("*")
"""The tenant of a job that changes items of every tenant."""
MAX_SEGMENTS = 64
"""The checkpoints of all segments are written in one transaction, which may contain 100 items."""
STARTED = "STARTED"
FINISHED = "FINISHED"


class JobKind(StrEnum):
    """The kinds of long-running work."""

    RESHARD = "RESHARD"
    MOVE = "MOVE"
    REKEY = "REKEY"
    OFFBOARD = "OFFBOARD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Long-running work that any worker can resume: its parameters, its progress, and the lease of its worker."""

    id: JobId
    tenant: TenantId
    kind: JobKind
    created_by: str
    phase: str
    """The current step, in the words of the kind. A pass over items is a phase with the name of the pass."""
    phase_started_at: datetime | None = None
    phase_ends_at: datetime | None = None
    """When a wait ends; None in a phase that works."""
    segments: int
    """How many segments of the table each pass scans in parallel."""
    parameters: str = "{}"
    """JSON object: what the job does. It never changes."""
    state: str = "{}"
    """JSON object: what the program of this kind must remember besides the fields below. Only that program reads it."""
    round: int = 1
    items_scanned: int = 0
    """In the current pass, or in the last one if none is running."""
    items_expected: int | None = None
    """About how many items the current pass scans; None if the table was not scanned before."""
    table_items: Mapping[str, int] = field(default_factory=dict)
    """How many items the last complete pass over each table has scanned."""
    items_changed: int = 0
    """In all passes together."""
    items_total: int | None = None
    """How many items the job has to change; None if the number is not known."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Other numbers of the current pass, or of the last one if none is running."""
    worker: str | None = None
    lease_expires_at: datetime | None = None
    finished_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """The attributes of a job that the indexes contain."""

    id: JobId
    tenant: TenantId
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCheckpoint:
    """How far one segment of a pass has been processed, and with which result."""

    job_id: JobId
    scan_pass: str
    segment: int
    segments: int
    resume_key: str | None = None
    """The LastEvaluatedKey of the last processed page, as JSON."""
    scanned: int = 0
    changed: int = 0
    wrong: int = 0
    digest: str = ""
    """Sum of the digests of the items that were changed or compared, in hexadecimal; their order does not matter."""
    counts: Mapping[str, int] = field(default_factory=dict)
    done: bool = False
    created_at: datetime
    updated_at: datetime
    version: int = 0
    """0 until the checkpoint is stored for the first time."""


_TABLE = ControlKey("JOB#{id}", "METADATA")
_BY_TENANT = ControlKey("JOBS#{tenant}#{created_at:month}", "{created_at}#{id}")
_BY_TIME = ControlKey("JOBS#{created_at:month}", "{created_at}#{id}")

jobs = entity(Job, table=_TABLE, gsi1=_BY_TENANT, gsi2=_BY_TIME)
job_summaries = entity(JobSummary, table=_TABLE, gsi1=_BY_TENANT, gsi2=_BY_TIME)
checkpoints = entity(ScanCheckpoint, table=ControlKey("JOB#{job_id}", "CHECKPOINT#{scan_pass}#{segment:03d}"))

job_by_id = jobs.get()
newest_jobs = job_summaries.query("gsi2", newest_first=True)
newest_jobs_of_tenant = job_summaries.query("gsi1", newest_first=True)
checkpoint_by_segment = checkpoints.get()


def new_job(
    kind: JobKind,
    tenant: TenantId,
    *,
    created_by: str,
    at: datetime,
    phase: str = STARTED,
    segments: int = 1,
    parameters: Mapping[str, object] | None = None,
    state: str = "{}",
) -> Job:
    if not 1 <= segments <= MAX_SEGMENTS:
        raise BadInput(f"segments must be 1 to {MAX_SEGMENTS}", field="segments")
    return Job(
        id=JobId(new_id(JOB_ID_PREFIX)),
        tenant=tenant,
        kind=kind,
        created_by=created_by,
        phase=phase,
        phase_started_at=at,
        segments=segments,
        parameters=orjson.dumps(parameters or {}).decode(),
        state=state,
        created_at=at,
        updated_at=at,
    )
