"""`OffboardingState` and phases; begin an offboarding."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from ulid import ULID

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.jobs.offboard.export_file import SUFFIX, initial_hash
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.expressions import absent
from keyfence.store.keys import ControlKey
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Placement, Tenant, TenantStatus, check_transition
from keyfence_iam.tenant import TenantId

JobId = NewType("JobId", str)


class OffboardingPhase(StrEnum):
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
class OffboardingState:
    """One for each tenant that ever left. `lines`, `size` and `head` are those of the export as far as it is safe."""

    id: JobId
    tenant: TenantId
    by: str
    export: str
    """The name of the export's file."""
    phase: OffboardingPhase = OffboardingPhase.SHUTTING
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


jobs = entity(OffboardingState, table=ControlKey("MIGRATION#{id}", "METADATA"))
offboarding_by_id = jobs.get()


GOING = frozenset({TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardingProgress:
    """A tenant that leaves, and how far it has come."""

    tenant: Tenant
    job: OffboardingState


Offboard = Callable[[TenantId, str], Awaitable[OffboardingProgress]]
"""Called again, it goes on; of a tenant that is gone it answers with the certificate."""


@dataclass(frozen=True, slots=True)
class StartOffboarding:
    """Needs the register and the fence, and nobody's items. `told` hears of the tenant as it is from then on."""

    register: TenantRepository
    suspensions: SuspensionPublisher
    told: Callable[[Tenant], None] = lambda _: None
    now: Callable[[], datetime] = timestamps.utc_now

    async def __call__(self, id: TenantId, confirm: str) -> OffboardingProgress:
        if confirm != id:
            raise BadInput("confirm must be the id of the tenant that is to go", field="confirm")
        job = self._fresh(id)

        async def also() -> Sequence[Write[Any]]:
            return *await self.suspensions.adding(id), put(jobs, job, when=absent())

        tenant = await self.register.change(
            id, "tenant.offboarding", mark_offboarding, detail={"job": job.id, "export": job.export}, also=also
        )
        self.told(tenant)
        if tenant.status is TenantStatus.OFFBOARDING:
            await self.suspensions.publish()
        return OffboardingProgress(tenant=tenant, job=await self._kept(id))

    async def _kept(self, id: TenantId) -> OffboardingState:
        if (job := await self.register.table.find(offboarding_by_id, id=job_id(id))) is None:
            raise Internal(f"{id} is leaving and there is no job for it")
        return job

    def _fresh(self, id: TenantId) -> OffboardingState:
        now, export = self.now(), f"{id}-{ULID()}{SUFFIX}"
        return OffboardingState(
            id=job_id(id),
            tenant=id,
            by=self.register.by,
            export=export,
            head=initial_hash(export),
            created_at=now,
            updated_at=now,
        )


def mark_offboarding(tenant: Tenant) -> Tenant:
    if tenant.status in GOING:
        return tenant
    if tenant.move is not None:
        raise _under_way("the tenant is being moved to another table", tenant.move.migration)
    for name, counts in tenant.shards.items():
        if counts.job_id is not None:
            raise _under_way(f"the shards of {name} are being changed", counts.job_id)
    check_transition(tenant.status, TenantStatus.OFFBOARDING)
    return replace(tenant, status=TenantStatus.OFFBOARDING)


def _under_way(what: str, migration: str) -> Conflict:
    """Whoever carries it out would go on writing."""
    return Conflict(f"{what}; end that first with `keyfence migrate resume {migration}`", migration=migration)
