"""The beginning of an offboarding: the tenant is shut out, and the job is there for a worker."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ulid import ULID

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.operations.offboarding.chain import genesis
from keyfence.operations.offboarding.export_file import SUFFIX
from keyfence.store import clock
from keyfence.store.expressions import absent
from keyfence.store.write import Write, put
from keyfence.tenancy.access import jobs, offboarding_by_id
from keyfence.tenancy.lifecycle import TenantStatus, check_step
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.offboarding import Job, job_id
from keyfence.tenancy.repository import Register
from keyfence.tenancy.suspensions import Suspensions
from keyfence_iam.boundary import TenantId

GOING = frozenset({TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A tenant that leaves, and how far it has come."""

    tenant: Tenant
    job: Job


Offboard = Callable[[TenantId, str], Awaitable[Departure]]
"""Called again, it goes on; of a tenant that is gone it answers with the certificate."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Needs the register and the fence, and nobody's items. `told` hears of the tenant as it is from then on."""

    register: Register
    suspensions: Suspensions
    told: Callable[[Tenant], None] = lambda _: None
    now: Callable[[], datetime] = clock.now

    async def __call__(self, id: TenantId, confirm: str) -> Departure:
        if confirm != id:
            raise BadInput("confirm must be the id of the tenant that is to go", field="confirm")
        job = self._fresh(id)

        async def also() -> Sequence[Write[Any]]:
            return *await self.suspensions.with_tenant(id), put(jobs, job, when=absent())

        tenant = await self.register.change(
            id, "tenant.offboarding", leaving, detail={"job": job.id, "export": job.export}, also=also
        )
        self.told(tenant)
        if tenant.status is TenantStatus.OFFBOARDING:
            await self.suspensions.publish()
        return Departure(tenant=tenant, job=await self._kept(id))

    async def _kept(self, id: TenantId) -> Job:
        if (job := await self.register.table.find(offboarding_by_id, id=job_id(id))) is None:
            raise Internal(f"{id} is leaving and there is no job for it")
        return job

    def _fresh(self, id: TenantId) -> Job:
        now, export = self.now(), f"{id}-{ULID()}{SUFFIX}"
        return Job(
            id=job_id(id),
            tenant=id,
            by=self.register.by,
            export=export,
            head=genesis(export),
            created_at=now,
            updated_at=now,
        )


def leaving(tenant: Tenant) -> Tenant:
    if tenant.status in GOING:
        return tenant
    if tenant.move is not None:
        raise _under_way("the tenant is being moved to another table", tenant.move.migration)
    for name, counts in tenant.shards.items():
        if counts.migration is not None:
            raise _under_way(f"the shards of {name} are being changed", counts.migration)
    check_step(tenant.status, TenantStatus.OFFBOARDING)
    return replace(tenant, status=TenantStatus.OFFBOARDING)


def _under_way(what: str, migration: str) -> Conflict:
    """Whoever carries it out would go on writing."""
    return Conflict(f"{what}; end that first with `keyfence migrate resume {migration}`", migration=migration)
