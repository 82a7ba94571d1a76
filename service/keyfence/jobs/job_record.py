"""The stored record of a job: its parameters, its progress and its lease."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

import orjson

from keyfence.errors import BadInput
from keyfence.store.ids import new_id
from keyfence_iam.tenant import TenantId

JobId = NewType("JobId", str)

JOB_ID_PREFIX = "job"

ALL_TENANTS = TenantId("*")
"""The tenant of a job that changes items of every tenant."""

MAX_SEGMENTS = 64
"""The most segments of a job. Their checkpoints are written in one transaction, which DynamoDB limits to 100 items."""

STARTED = "STARTED"
"""The phase of a job that no worker has run yet."""

FINISHED = "FINISHED"
"""The phase of a job that has nothing left to do."""


class JobKind(StrEnum):
    """The kinds of long-running work."""

    RESHARD = "RESHARD"
    MOVE = "MOVE"
    REKEY = "REKEY"
    OFFBOARD = "OFFBOARD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The record of long-running work that any worker can resume."""

    id: JobId
    tenant: TenantId
    kind: JobKind
    created_by: str
    phase: str
    """The current step. Each kind of job has its own phases. While a scan pass runs, the phase is its name."""
    phase_started_at: datetime | None = None
    phase_ends_at: datetime | None = None
    """When the wait of this phase ends. None in a phase that does not wait."""
    segments: int
    """How many segments of the table each scan pass reads in parallel."""
    parameters: str = "{}"
    """A JSON object with the operator's request. It never changes."""
    state: str = "{}"
    """A JSON object for progress that has no field of its own. Only the program of this kind of job reads it."""
    round: int = 1
    """The number of the current round. Passes are repeated in rounds until a round finds nothing wrong."""
    items_scanned: int = 0
    """Items that the current pass has scanned, or the last pass if none is running."""
    items_expected: int | None = None
    """About how many items the current pass scans. None if the table was not scanned before."""
    table_items: Mapping[str, int] = field(default_factory=dict)
    """How many items the last complete pass over each table has scanned."""
    items_changed: int = 0
    """Items that all passes together have changed."""
    items_total: int | None = None
    """How many items the job has to change. None if the number is not known."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Other numbers of the current pass, or of the last pass if none is running."""
    worker: str | None = None
    """The id of the worker that has the lease. None if no worker has it."""
    lease_expires_at: datetime | None = None
    finished_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """The attributes of a job that the indexes contain. The other attributes are read from the table."""

    id: JobId
    tenant: TenantId
    created_at: datetime
    updated_at: datetime
    version: int = 1


def new_job(
    kind: JobKind,
    tenant: TenantId,
    *,
    created_by: str,
    created_at: datetime,
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
        phase_started_at=created_at,
        segments=segments,
        parameters=orjson.dumps(parameters or {}).decode(),
        state=state,
        created_at=created_at,
        updated_at=created_at,
    )
