"""Starts, resumes or cancels a move, and the changes of a tenant that each phase of a move makes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfence.errors import Conflict, Internal
from keyfence.jobs.job_record import Job, JobKind, job_by_id, jobs, new_job
from keyfence.store.expressions import absent
from keyfence.store.writes import Write, put
from keyfence.tenancy.placement import MovePhase, Placement, TableMove
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId

SEGMENTS = 4

PHASE_EVENTS: Mapping[MovePhase, TenantEventKind] = {
    MovePhase.DUAL: TenantEventKind.MOVE_DUAL_WRITE,
    MovePhase.BACKFILL: TenantEventKind.MOVE_BACKFILL,
    MovePhase.SHADOW: TenantEventKind.MOVE_SHADOW_READ,
    MovePhase.SWITCHED: TenantEventKind.MOVE_SWITCHED,
    MovePhase.CLEARING: TenantEventKind.MOVE_CLEARING,
}

PREVIOUS_PHASES: Mapping[MovePhase, Collection[MovePhase]] = {
    MovePhase.DUAL: {MovePhase.PLAN},
    MovePhase.BACKFILL: {MovePhase.DUAL, MovePhase.SHADOW},
    MovePhase.SHADOW: {MovePhase.BACKFILL},
    MovePhase.SWITCHED: {MovePhase.SHADOW},
    MovePhase.CLEARING: {MovePhase.SWITCHED},
}
"""From which phases each phase may be entered. A late worker thus cannot undo a step that another one has taken."""

TenantChange = Callable[[Tenant], Tenant]


@dataclass(frozen=True, slots=True)
class StartMove:
    """Starts a move, or resumes or cancels the one that is running. It needs the control plane only."""

    tenants: TenantRepository
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    run_in_background: Callable[[Job], None] = lambda _: None
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, to: Placement) -> Job:
        """Returns the job. If a move to the other placement is running, it is cancelled."""
        tenant = await self.tenants.get(id)
        if tenant.move is None:
            return await self._start(tenant, to)
        if to is not tenant.move.goal:
            tenant = await self.tenants.change(id, TenantEventKind.MOVE_CANCELLED, cancel_move, detail={"to": to})
            self.on_tenant_changed(tenant)
        return await self._resume(tenant)

    async def _start(self, before: Tenant, to: Placement) -> Job:
        if before.placement is to:
            raise Conflict(f"the tenant is already in the {to}")
        job = new_job(
            JobKind.MOVE,
            before.id,
            created_by=self.tenants.by,
            created_at=self.tenants.now(),
            segments=self.segments,
            parameters={"to": to},
        )

        def changed(tenant: Tenant) -> Tenant:
            if (tenant.move, tenant.placement) != (None, before.placement):
                raise Conflict("the tenant has just been moved by another request; read it and try again")
            return plan_move(tenant, to, job.id)

        async def also() -> Sequence[Write[Any]]:
            return (put(jobs, job, when=absent()),)

        detail = {"to": to, "job": job.id}
        self.on_tenant_changed(
            await self.tenants.change(before.id, TenantEventKind.MOVE_PLANNED, changed, detail=detail, also=also)
        )
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


def plan_move(tenant: Tenant, target: Placement, job_id: str) -> Tenant:
    if tenant.status is not TenantStatus.ACTIVE:
        raise Conflict(f"the tenant is {tenant.status}; only an ACTIVE tenant can be moved")
    if resharding := [counts.job_id for counts in tenant.shards.values() if counts.job_id]:
        raise Conflict(
            f"the tenant's shards are being changed by job {resharding[0]}; wait until it is finished",
            job=resharding[0],
        )
    return replace(tenant, move=TableMove(target=target, phase=MovePhase.PLAN, job_id=job_id))


def cancel_move(tenant: Tenant) -> Tenant:
    """A move can be cancelled until the old copy is being deleted. Raises Conflict after that."""
    if tenant.move is None:
        raise Conflict("the tenant is not being moved")
    if tenant.move.is_cancelled:
        raise Conflict("the move is already cancelled; wait until the tenant is back, then move it again")
    if tenant.move.phase is MovePhase.CLEARING:
        raise Conflict("the tenant has already arrived; wait until the move is finished, then move it back")
    return replace(tenant, move=replace(tenant.move, is_cancelled=True))


def enter_phase(job_id: str, phase: MovePhase) -> TenantChange:
    """Returns the change that enters a phase. It changes nothing if the move is another job's, or not so far.

    A cancelled move enters one phase only: from SWITCHED it goes back to BACKFILL."""

    def changed(tenant: Tenant) -> Tenant:
        move = _move_of(tenant, job_id)
        if move is None or not _may_enter(move, phase):
            return tenant
        entered = replace(tenant, move=replace(move, phase=phase))
        return replace(entered, placement=move.target) if phase is MovePhase.CLEARING else entered

    return changed


def roll_back(job_id: str) -> TenantChange:
    """Returns the change that turns a cancelled move around: the former target is what will be cleared."""

    def changed(tenant: Tenant) -> Tenant:
        move = _move_of(tenant, job_id)
        if move is None or not move.is_cancelled or move.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}:
            return tenant
        return replace(tenant, move=replace(move, target=move.target.other, phase=MovePhase.CLEARING))

    return changed


def finish_move(job_id: str) -> TenantChange:
    def changed(tenant: Tenant) -> Tenant:
        move = _move_of(tenant, job_id)
        return replace(tenant, move=None) if move and move.phase is MovePhase.CLEARING else tenant

    return changed


def _may_enter(move: TableMove, phase: MovePhase) -> bool:
    if move.is_cancelled:
        return (move.phase, phase) == (MovePhase.SWITCHED, MovePhase.BACKFILL)
    return move.phase in PREVIOUS_PHASES[phase]


def _move_of(tenant: Tenant, job_id: str) -> TableMove | None:
    return tenant.move if tenant.move and tenant.move.job_id == job_id else None
