"""The phases of an offboarding, their order, and the state that is stored between two steps."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

import orjson

from keyfence.errors import Conflict
from keyfence.jobs.job_record import Job
from keyfence.jobs.offboard.export_file import initial_hash
from keyfence.store.entity import INDEXES, Index
from keyfence.tenancy.placement import Placement
from keyfence_iam.tenant import TenantId


class OffboardingPhase(StrEnum):
    """The phases of an offboarding, in their order. The phase of a state says what the next step does.

    After PURGING the job returns to EXPORTING, until a round finds no items. After DROPPING_TABLE it returns to
    EXPORTING once more, to search the shared table. Only a tenant with a table of its own has DROPPING_TABLE."""

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
    """The progress of an offboarding. Each step takes a state and returns the next state, which the job stores."""

    tenant: TenantId
    phase: OffboardingPhase = OffboardingPhase.SUSPENDING
    round: int = 1
    export_name: str
    """The name of the export file, without its directory."""
    export_uri: str | None = None
    exported_count: int = 0
    """How many lines of the export file are on disk."""
    export_size: int = 0
    """How many bytes the exported lines take in the file."""
    chain_hash: str = ""
    """The hash of the last exported line. It covers all lines before that line."""
    purged_count: int = 0
    """How many items were deleted."""
    placement: Placement = Placement.POOL
    """Which table is being emptied: first the tenant's own table, if it has one, then the shared table."""
    silo_table: str | None = None
    """The name of the tenant's own table. None if the tenant had none."""
    index: str = "table"
    """What is being scanned: the table or one of its indexes."""
    resume_key: str | None = None
    """The LastEvaluatedKey of the last page, as JSON."""
    scanned_count: int = 0
    """How many items the current scan has read, of all tenants."""
    table_items: int | None = None
    """How many items the last complete scan of this table has read. None before the first complete scan."""
    found_count: int = 0
    """How many items of the tenant this round has found."""
    stray_count: int = 0
    """How many stray items this round has found: items of other tenants with an index key of this tenant."""
    certificate: str | None = None
    """The text of the certificate, once it is signed."""


def start_round(state: OffboardingState) -> OffboardingState:
    """Returns the state at the beginning of a scan of the table."""
    return replace(
        state,
        phase=OffboardingPhase.EXPORTING,
        index="table",
        resume_key=None,
        scanned_count=0,
        found_count=0,
        stray_count=0,
    )


def next_round(state: OffboardingState) -> OffboardingState:
    return replace(start_round(state), round=state.round + 1)


def can_restart_export(state: OffboardingState) -> bool:
    """Tells whether all exported items are still in the table, so that a damaged export can be written again."""
    return state.round == 1 and state.phase in {OffboardingPhase.EXPORTING, OffboardingPhase.VERIFYING_EXPORT}


def restart_export(state: OffboardingState) -> OffboardingState:
    """Returns the state in which the export file is written again from its first line on."""
    return replace(start_round(state), exported_count=0, export_size=0, chain_hash=initial_hash(state.export_name))


def after_export_scan(state: OffboardingState) -> OffboardingState:
    """Returns the state after a complete scan of the table. If the scan found items, they are purged next.

    Raises OffboardingHalted if the scan found only items of other tenants."""
    if state.found_count:
        return replace(state, phase=OffboardingPhase.VERIFYING_EXPORT)
    if state.stray_count:
        raise OffboardingHalted(
            next_round(state),
            Conflict(
                f"{state.stray_count:,} items of other tenants have an index key of this tenant; correct the items "
                "that the log names as stray_in_index with `keyfence rekey`, then resume the job"
            ),
        )
    return replace(state, phase=OffboardingPhase.VERIFYING_INDEXES, index=INDEXES[0], scanned_count=0)


def after_index_scan(state: OffboardingState, index: Index) -> OffboardingState:
    """Returns the state after a complete scan of an index.

    If the scan found items, the next round scans the table again, which can be read consistently."""
    if state.found_count:
        return next_round(state)
    if index != INDEXES[-1]:
        return replace(state, index=INDEXES[INDEXES.index(index) + 1])
    is_in_silo = state.placement is Placement.SILO
    return replace(state, phase=OffboardingPhase.DROPPING_TABLE if is_in_silo else OffboardingPhase.CERTIFYING)


class OffboardingHalted(Exception):
    """The job cannot continue until an operator has corrected something. It resumes from `state`."""

    def __init__(self, state: OffboardingState, error: Conflict) -> None:
        super().__init__(error.message)
        self.state = state
        self.error = error


_JOB_FIELDS = frozenset({"tenant", "phase", "round"})
"""Fields of the state that the record of the job has as fields of its own."""


def state_of(job: Job) -> OffboardingState:
    """Returns the state that the record of a job contains."""
    stored = orjson.loads(job.state)
    stored["placement"] = Placement(stored["placement"])
    return OffboardingState(tenant=job.tenant, phase=OffboardingPhase(job.phase), round=job.round, **stored)


def state_text(state: OffboardingState) -> str:
    """Returns the JSON text for the field `state` of a job."""
    names = [field.name for field in fields(state) if field.name not in _JOB_FIELDS]
    return orjson.dumps({name: getattr(state, name) for name in names}).decode()


def job_changes(state: OffboardingState) -> dict[str, Any]:
    """Returns the changes of a job's record that store this state."""
    is_purging = state.phase is OffboardingPhase.PURGING
    return {
        "phase": state.phase,
        "round": state.round,
        "state": state_text(state),
        "items_scanned": state.purged_count if is_purging else state.scanned_count,
        "items_expected": state.exported_count if is_purging else state.table_items if state.index == "table" else None,
        "items_changed": state.purged_count,
        "items_total": state.exported_count or None,
        "counts": {"exported": state.exported_count, "purged": state.purged_count},
    }
