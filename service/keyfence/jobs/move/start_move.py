"""`StartMove`: starts a move of a tenant to another table, or resumes or cancels the running move."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from keyfence.errors import Conflict, Internal
from keyfence.jobs.access_patterns import job_by_id, jobs
from keyfence.jobs.job_record import Job, JobKind, new_job
from keyfence.jobs.move.move_phases import cancel_move, plan_move
from keyfence.store.expressions import absent
from keyfence.store.writes import Write, put
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId

SEGMENTS = 4
"""How many segments of a table the job scans in parallel."""


@dataclass(frozen=True, slots=True)
class StartMove:
    """Starts a move, or resumes or cancels the running one. It needs access to the control plane only."""

    tenants: TenantRepository
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    run_in_background: Callable[[Job], None] = lambda _: None
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, target: Placement) -> Job:
        """Returns the job of the move. If a move to the other placement is running, that move is cancelled."""
        tenant = await self.tenants.get(id)
        if tenant.move is None:
            return await self._start(tenant, target)
        if target is not tenant.move.final_placement:
            tenant = await self.tenants.change(id, TenantEventKind.MOVE_CANCELLED, cancel_move, detail={"to": target})
            self.on_tenant_changed(tenant)
        return await self._resume(tenant)

    async def _start(self, before: Tenant, target: Placement) -> Job:
        if before.placement is target:
            raise Conflict(f"the tenant is already in the {target}")
        job = new_job(
            JobKind.MOVE,
            before.id,
            created_by=self.tenants.actor,
            created_at=self.tenants.now(),
            segments=self.segments,
            parameters={"to": target},
        )

        def plan(tenant: Tenant) -> Tenant:
            if (tenant.move, tenant.placement) != (None, before.placement):
                raise Conflict("the tenant has just been moved by another request; read it and try again")
            return plan_move(tenant, target, job.id)

        async def job_write() -> Sequence[Write[Any]]:
            return (put(jobs, job, when=absent()),)

        detail = {"to": target, "job": job.id}
        planned = await self.tenants.change(
            before.id, TenantEventKind.MOVE_PLANNED, plan, detail=detail, more_writes=job_write
        )
        self.on_tenant_changed(planned)
        self.run_in_background(job)
        return job

    async def _resume(self, tenant: Tenant) -> Job:
        if tenant.move is None:
            raise Conflict("the move has just ended; read the tenant and try again")
        job = await self.tenants.table.find(job_by_id, id=tenant.move.job_id)
        if job is None:
            raise Internal(f"tenant {tenant.id} is being moved by job {tenant.move.job_id}, which is missing")
        self.run_in_background(job)
        return job
