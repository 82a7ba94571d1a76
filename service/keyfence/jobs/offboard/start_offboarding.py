"""`StartOffboarding`: denies the tenant access and stores the job that exports and purges its items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ulid import ULID

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.jobs.access_patterns import job_by_id, jobs
from keyfence.jobs.job_record import Job, JobId, JobKind, new_job
from keyfence.jobs.offboard.export_file import SUFFIX, initial_hash
from keyfence.jobs.offboard.offboarding_phases import OffboardingState, state_text
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus, check_transition
from keyfence_iam.tenant import TenantId

_OFFBOARDING_STATUSES = frozenset({TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED})
"""The statuses of a tenant whose offboarding has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffboardingProgress:
    """A tenant that is being offboarded, and the job that offboards it."""

    tenant: Tenant
    job: Job


@dataclass(frozen=True, slots=True)
class StartOffboarding:
    """Marks a tenant as OFFBOARDING, denies it access and stores the job. If the job exists, it is resumed.

    It needs access to the control plane and to IAM, but not to the tenant's items."""

    tenants: TenantRepository
    suspensions: SuspensionPublisher
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    run_in_background: Callable[[Job], None] = lambda _: None
    now: Callable[[], datetime] = timestamps.utc_now

    async def __call__(self, id: TenantId, confirm: str) -> OffboardingProgress:
        if confirm != id:
            raise BadInput("confirm must be the id of the tenant to offboard", field="confirm")
        job = self._new_job(id)

        async def more_writes() -> Sequence[Write[Any]]:
            return *await self.suspensions.writes_to_add(id), put(jobs, job, when=absent())

        tenant = await self.tenants.change(
            id,
            TenantEventKind.OFFBOARDING,
            lambda tenant: mark_offboarding(tenant, job.id),
            detail={"job": job.id},
            more_writes=more_writes,
        )
        self.on_tenant_changed(tenant)
        if tenant.status is TenantStatus.OFFBOARDING:
            await self.suspensions.publish()
        stored = await self._get_job(tenant)
        if stored.finished_at:
            return OffboardingProgress(tenant=await self.tenants.get(id), job=stored)
        self.run_in_background(stored)
        return OffboardingProgress(tenant=tenant, job=stored)

    async def _get_job(self, tenant: Tenant) -> Job:
        job = await self.tenants.table.find(job_by_id, id=tenant.offboarding_job_id)
        if job is None:
            raise Internal(f"tenant {tenant.id} is {tenant.status}, but its job {tenant.offboarding_job_id} is missing")
        return job

    def _new_job(self, id: TenantId) -> Job:
        export = f"{id}-{ULID()}{SUFFIX}"
        state = OffboardingState(tenant=id, export_name=export, chain_hash=initial_hash(export))
        return new_job(
            JobKind.OFFBOARD,
            id,
            created_by=self.tenants.actor,
            created_at=self.now(),
            phase=state.phase,
            parameters={"export": export},
            state=state_text(state),
        )


def mark_offboarding(tenant: Tenant, job_id: JobId) -> Tenant:
    """Returns the tenant with the status OFFBOARDING. Does not change a tenant whose offboarding has started.

    Raises Conflict while another job changes the tenant's items, since that job would go on writing items."""
    if tenant.status in _OFFBOARDING_STATUSES:
        return tenant
    if tenant.move is not None:
        raise _job_is_running("the tenant is being moved to another table", tenant.move.job_id)
    for name, counts in tenant.shards.items():
        if counts.job_id is not None:
            raise _job_is_running(f"the shards of {name} are being changed", counts.job_id)
    check_transition(tenant.status, TenantStatus.OFFBOARDING)
    return replace(tenant, status=TenantStatus.OFFBOARDING, offboarding_job_id=job_id)


def _job_is_running(reason: str, job_id: str) -> Conflict:
    return Conflict(f"{reason}; complete that first with `keyfence job resume {job_id}`", job=job_id)
