"""How far the offboarding of a tenant has come: all that a worker needs to go on where another stopped."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from keyfence.tenancy.move import Placement
from keyfence_iam.boundary import TenantId

JobId = NewType("JobId", str)


class Phase(StrEnum):
    """What is to be done next. Exporting follows purging until it finds nothing, and dropping, for a look elsewhere."""

    SHUTTING = "SHUTTING"
    WAITING = "WAITING"
    EXPORTING = "EXPORTING"
    PROVING = "PROVING"
    PURGING = "PURGING"
    VERIFYING = "VERIFYING"
    DROPPING = "DROPPING"
    CERTIFYING = "CERTIFYING"
    SCRUBBING = "SCRUBBING"
    FINISHING = "FINISHING"
    FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One for each tenant that ever left. `lines`, `size` and `head` are those of the export as far as it is safe."""

    id: JobId
    tenant: TenantId
    by: str
    export: str
    """The name of the export's file."""
    phase: Phase = Phase.SHUTTING
    uri: str | None = None
    settled_at: datetime | None = None
    """From then on no server writes for the tenant any more."""
    placement: Placement = Placement.POOL
    """Which table it is at: its own first, if it has one, and in the end that of all."""
    silo: str | None = None
    """The table that was its own, by name."""
    round: int = 1
    index: str = "table"
    """What is being scanned."""
    after: str | None = None
    """Where the scan goes on: DynamoDB's LastEvaluatedKey as JSON text."""
    scanned: int = 0
    found: int = 0
    """In this round, of the tenant."""
    strays: int = 0
    """In this round, of others who point at the tenant from an index."""
    lines: int = 0
    size: int = 0
    head: str = ""
    purged: int = 0
    certificate: str | None = None
    finished_at: datetime | None = None
    worker: str | None = None
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1


def job_id(tenant: TenantId) -> JobId:
    """A tenant leaves once."""
    return JobId(f"off_{tenant}")
