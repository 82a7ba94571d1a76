"""The steps by which a tenant is moved; each is a new state of the tenant, and an event."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from keyfence.errors import Conflict
from keyfence.tenancy.lifecycle import TenantStatus
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.move import Move, MovePhase, Placement

BEGUN = "tenant.move_planned"
CALLED_OFF = "tenant.move_called_off"
TURNED_BACK = "tenant.move_turned_back"
DONE = "tenant.moved"
PUBLISHED: Mapping[MovePhase, str] = {
    MovePhase.DUAL: "tenant.move_writes_both",
    MovePhase.BACKFILL: "tenant.move_copies",
    MovePhase.SHADOW: "tenant.move_compares",
    MovePhase.SWITCHED: "tenant.move_switched",
    MovePhase.CLEARING: "tenant.move_clears",
}
"""The events."""

COMES_FROM: Mapping[MovePhase, Collection[MovePhase]] = {
    MovePhase.DUAL: {MovePhase.PLAN},
    MovePhase.BACKFILL: {MovePhase.DUAL, MovePhase.SHADOW},
    MovePhase.SHADOW: {MovePhase.BACKFILL},
    MovePhase.SWITCHED: {MovePhase.SHADOW},
    MovePhase.CLEARING: {MovePhase.SWITCHED},
}
"""Whoever comes late with a step finds it taken, and takes nothing back."""

Changed = Callable[[Tenant], Tenant]


def planned(tenant: Tenant, target: Placement, migration: str) -> Tenant:
    if tenant.status is not TenantStatus.ACTIVE:
        raise Conflict(f"the tenant is {tenant.status}: only one that is ACTIVE can be moved")
    if busy := [one.migration for one in tenant.shards.values() if one.migration]:
        raise Conflict(f"its shards are being changed by {busy[0]}: wait for that", migration=busy[0])
    return replace(tenant, move=Move(target=target, phase=MovePhase.PLAN, migration=migration))


def called_off(tenant: Tenant) -> Tenant:
    """While there is a way back: until what was left behind is cleared away."""
    if tenant.move is None:
        raise Conflict("the tenant is not being moved")
    if tenant.move.back:
        raise Conflict("the move was called off: wait until the tenant is back, and move it then")
    if tenant.move.phase is MovePhase.CLEARING:
        raise Conflict("the tenant has arrived: wait until it is done, and move it back then")
    return replace(tenant, move=replace(tenant.move, back=True))


def in_phase(migration: str, phase: MovePhase) -> Changed:
    """Only the migration that the move belongs to takes it further, and only while nobody has called it off: then there
    is one step on the way back."""

    def changed(tenant: Tenant) -> Tenant:
        move = _own(tenant, migration)
        if move is None or not _follows(move, phase):
            return tenant
        placed = replace(tenant, move=replace(move, phase=phase))
        return replace(placed, placement=move.target) if phase is MovePhase.CLEARING else placed

    return changed


def _follows(move: Move, phase: MovePhase) -> bool:
    if move.back:
        return (move.phase, phase) == (MovePhase.SWITCHED, MovePhase.BACKFILL)
    return move.phase in COMES_FROM[phase]


def retreating(migration: str) -> Changed:
    """What was the target is what is to be cleared away."""

    def changed(tenant: Tenant) -> Tenant:
        move = _own(tenant, migration)
        if move is None or not move.back or move.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}:
            return tenant
        return replace(tenant, move=replace(move, target=move.target.other, phase=MovePhase.CLEARING))

    return changed


def arrived(migration: str) -> Changed:
    def changed(tenant: Tenant) -> Tenant:
        move = _own(tenant, migration)
        return replace(tenant, move=None) if move and move.phase is MovePhase.CLEARING else tenant

    return changed


def _own(tenant: Tenant, migration: str) -> Move | None:
    return tenant.move if tenant.move and tenant.move.migration == migration else None
