"""The stored state of an offboarding: its phase, its export file, and the scan that is running."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import orjson

from keyfence.jobs.job_record import Job
from keyfence.tenancy.placement import Placement
from keyfence_iam.tenant import TenantId


class OffboardingPhase(StrEnum):
    """The next step of the job.

    After PURGING the job returns to EXPORTING, until no items are found. After DROPPING_TABLE it returns to EXPORTING
    once more, to search the shared table."""

    SUSPENDING = "SUSPENDING"
    SETTLING = "SETTLING"
    EXPORTING = "EXPORTING"
    VERIFYING_EXPORT = "VERIFYING_EXPORT"
    PURGING = "PURGING"
    VERIFYING_INDEXES = "VERIFYING_INDEXES"
    DROPPING_TABLE = "DROPPING_TABLE"
    CERTIFYING = "CERTIFYING"
    ERASING_EVENTS = "ERASING_EVENTS"
    FINISHING = "FINISHING"
    FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardingState:
    """A value that each step of an offboarding takes and returns. It is stored in the record of the job."""

    tenant: TenantId
    phase: OffboardingPhase = OffboardingPhase.SUSPENDING
    round: int = 1
    export: str
    """The name of the export file."""
    export_uri: str | None = None
    exported: int = 0
    """How many lines of the export file are safely on disk."""
    export_size: int = 0
    """How many bytes these lines take."""
    chain_hash: str = ""
    """The hash of the last of these lines, which covers all lines before it."""
    purged: int = 0
    placement: Placement = Placement.POOL
    """Which table is being emptied: first the tenant's own, if it has one, then the shared one."""
    silo: str | None = None
    """The name of the table that the tenant had of its own."""
    index: str = "table"
    """What is being scanned: the table or one of its indexes."""
    resume_key: str | None = None
    """The LastEvaluatedKey of the last page, as JSON."""
    scanned: int = 0
    table_items: int | None = None
    """How many items the last complete scan of this table met; None before the first."""
    found: int = 0
    """Items of the tenant that this round has found."""
    strays: int = 0
    """Items of other tenants that this round has found among the tenant's in an index."""
    certificate: str | None = None


_FIELDS_OF_JOB = frozenset({"tenant", "phase", "round"})


def state_of(job: Job) -> OffboardingState:
    stored = orjson.loads(job.state)
    stored["placement"] = Placement(stored["placement"])
    return OffboardingState(tenant=job.tenant, phase=OffboardingPhase(job.phase), round=job.round, **stored)


def state_text(state: OffboardingState) -> str:
    names = [field.name for field in fields(state) if field.name not in _FIELDS_OF_JOB]
    return orjson.dumps({name: getattr(state, name) for name in names}).decode()


def job_changes(state: OffboardingState) -> dict[str, Any]:
    """Returns the fields of a job that record this state."""
    is_purging = state.phase is OffboardingPhase.PURGING
    return {
        "phase": state.phase,
        "round": state.round,
        "state": state_text(state),
        "items_scanned": state.purged if is_purging else state.scanned,
        "items_expected": state.exported if is_purging else state.table_items if state.index == "table" else None,
        "items_changed": state.purged,
        "items_total": state.exported or None,
        "counts": {"exported": state.exported, "purged": state.purged},
    }
