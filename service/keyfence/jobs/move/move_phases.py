"""The phases of a move: their order, and the change of the tenant that enters each phase."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from keyfence.errors import Conflict
from keyfence.tenancy.placement import MovePhase, Placement, TableMove
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus

PREVIOUS_PHASES: Mapping[MovePhase, Collection[MovePhase]] = {
    MovePhase.DUAL: {MovePhase.PLAN},
    MovePhase.BACKFILL: {MovePhase.DUAL, MovePhase.SHADOW},
    MovePhase.SHADOW: {MovePhase.BACKFILL},
    MovePhase.SWITCHED: {MovePhase.SHADOW},
    MovePhase.CLEARING: {MovePhase.SWITCHED},
}
"""From which phases each phase may be entered.

So a worker that has lost its lease cannot move the tenant back to a phase that the next worker has left."""

PHASE_EVENTS: Mapping[MovePhase, TenantEventKind] = {
    MovePhase.DUAL: TenantEventKind.MOVE_DUAL_WRITE,
    MovePhase.BACKFILL: TenantEventKind.MOVE_BACKFILL,
    MovePhase.SHADOW: TenantEventKind.MOVE_SHADOW_READ,
    MovePhase.SWITCHED: TenantEventKind.MOVE_SWITCHED,
    MovePhase.CLEARING: TenantEventKind.MOVE_CLEARING,
}
"""The event that is written when a phase is entered."""

TenantChange = Callable[[Tenant], Tenant]
"""A function that receives the stored tenant and returns the changed one, or the same one if nothing changes."""


def plan_move(tenant: Tenant, target: Placement, job_id: str) -> Tenant:
    """Returns the tenant in the first phase. Raises Conflict if the tenant cannot be moved now."""
    if tenant.status is not TenantStatus.ACTIVE:
        raise Conflict(f"the tenant is {tenant.status}; only an ACTIVE tenant can be moved")
    for counts in tenant.shards.values():
        if counts.job_id:
            raise Conflict(
                f"the tenant's shards are being changed by job {counts.job_id}; wait until it is finished",
                job=counts.job_id,
            )
    return replace(tenant, move=TableMove(target=target, phase=MovePhase.PLAN, job_id=job_id))


def cancel_move(tenant: Tenant) -> Tenant:
    """Returns the tenant with a cancelled move. Raises Conflict if the old copy is already being deleted."""
    if tenant.move is None:
        raise Conflict("the tenant is not being moved")
    if tenant.move.is_cancelled:
        raise Conflict("the move is already cancelled; wait until the tenant is back, then move it again")
    if tenant.move.phase is MovePhase.CLEARING:
        raise Conflict("the tenant has already arrived; wait until the move is finished, then move it back")
    return replace(tenant, move=replace(tenant.move, is_cancelled=True))


def enter_phase(job_id: str, phase: MovePhase) -> TenantChange:
    """Returns the change that enters a phase.

    It changes nothing if another job moves the tenant, or if the phase may not be entered now. A cancelled move may
    enter one phase only: from SWITCHED it returns to BACKFILL."""

    def change(tenant: Tenant) -> Tenant:
        move = _find_move(tenant, job_id)
        if move is None or not _may_enter(move, phase):
            return tenant
        entered = replace(tenant, move=replace(move, phase=phase))
        return replace(entered, placement=move.target) if phase is MovePhase.CLEARING else entered

    return change


def roll_back(job_id: str) -> TenantChange:
    """Returns the change by which a cancelled move enters CLEARING. The copy in the former target is deleted then."""

    def change(tenant: Tenant) -> Tenant:
        move = _find_move(tenant, job_id)
        if move is None or not move.is_cancelled or move.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}:
            return tenant
        return replace(tenant, move=replace(move, target=move.target.other, phase=MovePhase.CLEARING))

    return change


def finish_move(job_id: str) -> TenantChange:
    """Returns the change after which the tenant is no longer being moved."""

    def change(tenant: Tenant) -> Tenant:
        move = _find_move(tenant, job_id)
        return replace(tenant, move=None) if move and move.phase is MovePhase.CLEARING else tenant

    return change


def _may_enter(move: TableMove, phase: MovePhase) -> bool:
    if move.is_cancelled:
        return (move.phase, phase) == (MovePhase.SWITCHED, MovePhase.BACKFILL)
    return move.phase in PREVIOUS_PHASES[phase]


def _find_move(tenant: Tenant, job_id: str) -> TableMove | None:
    return tenant.move if tenant.move and tenant.move.job_id == job_id else None
