"""Phases of a table move; begin, continue or cancel it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfence.errors import Conflict, Internal
from keyfence.jobs.job import Job, JobKind, migration_by_id, migrations, new_job
from keyfence.jobs.reshard.start import nobody
from keyfence.store.expressions import absent
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import MovePhase, Placement, TableMove, Tenant, TenantStatus
from keyfence_iam.tenant import TenantId

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


def plan_move(tenant: Tenant, target: Placement, migration: str) -> Tenant:
    if tenant.status is not TenantStatus.ACTIVE:
        raise Conflict(f"the tenant is {tenant.status}: only one that is ACTIVE can be moved")
    if busy := [one.job_id for one in tenant.shards.values() if one.job_id]:
        raise Conflict(f"its shards are being changed by {busy[0]}: wait for that", migration=busy[0])
    return replace(tenant, move=TableMove(target=target, phase=MovePhase.PLAN, migration=migration))


def cancel_move(tenant: Tenant) -> Tenant:
    """While there is a way back: until what was left behind is cleared away."""
    if tenant.move is None:
        raise Conflict("the tenant is not being moved")
    if tenant.move.back:
        raise Conflict("the move was called off: wait until the tenant is back, and move it then")
    if tenant.move.phase is MovePhase.CLEARING:
        raise Conflict("the tenant has arrived: wait until it is done, and move it back then")
    return replace(tenant, move=replace(tenant.move, back=True))


def enter_phase(migration: str, phase: MovePhase) -> Changed:
    """Only the migration that the move belongs to takes it further, and only while nobody has called it off: then there
    is one step on the way back."""

    def changed(tenant: Tenant) -> Tenant:
        move = _own(tenant, migration)
        if move is None or not _follows(move, phase):
            return tenant
        placed = replace(tenant, move=replace(move, phase=phase))
        return replace(placed, placement=move.target) if phase is MovePhase.CLEARING else placed

    return changed


def _follows(move: TableMove, phase: MovePhase) -> bool:
    if move.back:
        return (move.phase, phase) == (MovePhase.SWITCHED, MovePhase.BACKFILL)
    return move.phase in COMES_FROM[phase]


def roll_back(migration: str) -> Changed:
    """What was the target is what is to be cleared away."""

    def changed(tenant: Tenant) -> Tenant:
        move = _own(tenant, migration)
        if move is None or not move.back or move.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}:
            return tenant
        return replace(tenant, move=replace(move, target=move.target.other, phase=MovePhase.CLEARING))

    return changed


def finish_move(migration: str) -> Changed:
    def changed(tenant: Tenant) -> Tenant:
        move = _own(tenant, migration)
        return replace(tenant, move=None) if move and move.phase is MovePhase.CLEARING else tenant

    return changed


def _own(tenant: Tenant, migration: str) -> TableMove | None:
    return tenant.move if tenant.move and tenant.move.migration == migration else None


SEGMENTS = 4


@dataclass(frozen=True, slots=True)
class StartMove:
    """Needs the register alone. `told` hears of the tenant as it is from then on, `run_job` of what is to be done."""

    register: TenantRepository
    told: Callable[[Tenant], None] = lambda _: None
    carry_on: Callable[[Job], None] = nobody
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, to: Placement) -> Job:
        """Asked again it is gone on with; asked for where the tenant came from, it is called off."""
        tenant = await self.register.get(id)
        if tenant.move is None:
            return await self._begin(tenant, to)
        if to is not tenant.move.goal:
            tenant = await self.register.change(id, CALLED_OFF, cancel_move, detail={"to": to})
            self.told(tenant)
        return await self._go_on(tenant)

    async def _begin(self, before: Tenant, to: Placement) -> Job:
        if before.placement is to:
            raise Conflict(f"the tenant is in the {to} already")
        made = new_job(
            JobKind.MOVE,
            before.id,
            by=self.register.by,
            at=self.register.now(),
            segments=self.segments,
            detail={"to": to},
        )

        def changed(tenant: Tenant) -> Tenant:
            if (tenant.move, tenant.placement) != (None, before.placement):
                raise Conflict("somebody else has just moved the tenant; look at it and ask again")
            return plan_move(tenant, to, made.id)

        async def also() -> Sequence[Write[Any]]:
            return (put(migrations, made, when=absent()),)

        detail = {"to": to, "migration": made.id}
        self.told(await self.register.change(before.id, BEGUN, changed, detail=detail, also=also))
        self.carry_on(made)
        return made

    async def _go_on(self, tenant: Tenant) -> Job:
        if tenant.move is None:
            raise Conflict("the move has just ended; look at the tenant and ask again")
        found = await self.register.table.find(migration_by_id, id=tenant.move.migration)
        if found is None:
            raise Internal(f"there is no migration {tenant.move.migration}")
        self.carry_on(found)
        return found
