"""`MoveJob`: moves a tenant to another table by dual write, backfill, shadow reads, a switch and a purge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from keyfence.errors import Conflict
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.move.copy_pass import CopyPass
from keyfence.jobs.move.move_phases import PHASE_EVENTS, TenantChange, enter_phase, finish_move, roll_back
from keyfence.jobs.move.read_differences import ReadDifferences
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import MAX_IDLE_ROUNDS, ScanPass, repeat_until_clean, run_pass
from keyfence.store.codec import Item
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence.store.job_writes import delete_items
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.tenancy.placement import MovePhase, Placement, TableMove
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId


class MoveCancelled(Exception):
    """An operator has cancelled the move, so the job must leave its current phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJob:
    """The program of a move. It reads the phase of the stored tenant, does the work of the phase, and enters the next
    one."""

    tenants: TenantRepository
    differences: ReadDifferences
    silos: SiloTables
    table_name: Callable[[TenantId, Placement], str]
    table_in: Callable[[TenantId, Placement], Table]
    """Makes a handle of one of the tenant's two tables."""
    table_for_both: Callable[[TenantId], Table]
    """Makes a handle whose credentials reach both tables."""
    settle_time: timedelta
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None

    async def __call__(self, run: JobRun) -> None:
        phases = {
            MovePhase.PLAN: self._plan,
            MovePhase.DUAL: self._start_dual_write,
            MovePhase.BACKFILL: self._backfill,
            MovePhase.SHADOW: self._compare_reads,
            MovePhase.SWITCHED: self._switch,
            MovePhase.CLEARING: self._clear,
        }
        while (move := await self._current_move(run)) is not None:
            must_roll_back = move.is_cancelled and move.phase is not MovePhase.CLEARING
            try:
                await (self._roll_back if must_roll_back else phases[move.phase])(run, move)
            except MoveCancelled:
                continue

    async def _current_move(self, run: JobRun) -> TableMove | None:
        """Returns the move of this job, or None if it is finished."""
        move = (await self.tenants.get(run.job.tenant)).move
        return move if move and move.job_id == run.job.id else None

    async def _plan(self, run: JobRun, move: TableMove) -> None:
        """Creates the target table, before any server writes to it, and counts the tenant's items."""
        tenant = run.job.tenant
        if move.target is Placement.SILO:
            await self.silos.create(tenant)
        run.resources.failpoint("table created")
        source = self.table_name(tenant, move.target.other)
        fence = Fence.for_tenant(tenant)
        result = await run_pass(run, ScanPass(name="COUNTING", process=_count, fence=fence, table=source))
        await run.save(items_total=result.counts.get("counted", 0))
        await self._enter(run, MovePhase.DUAL)

    async def _start_dual_write(self, run: JobRun, _: TableMove) -> None:
        """Waits until every server writes to both tables."""
        await self._settle(run, MovePhase.DUAL)
        await self._enter(run, MovePhase.BACKFILL)

    async def _backfill(self, run: JobRun, move: TableMove) -> None:
        """Copies items that the target lacks, and deletes items from the target that the source no longer has.

        Servers that did not yet write to both tables may have changed the source only. These items are copied too."""
        copy, forward, backward = self._passes(run, move)
        await self._check_cancelled(run)
        await repeat_until_clean(
            run, replace(forward, process=copy.copy), replace(forward, name="COMPARING", process=copy.compare)
        )
        await self._check_cancelled(run)
        await repeat_until_clean(
            run,
            replace(backward, process=copy.clear),
            replace(backward, name="COMPARING-BACK", process=copy.compare_back),
        )
        run.lease.check()
        await self.differences.reset(run.job.id)
        await self._enter(run, MovePhase.SHADOW)

    async def _compare_reads(self, run: JobRun, move: TableMove) -> None:
        """Compares all items once more, while servers read from both tables and report differences."""
        await self._settle(run, MovePhase.SHADOW)
        copy, forward, backward = self._passes(run, move)
        suffix = run.job.round
        forward_result = await run_pass(run, replace(forward, name=f"SHADOW-FORWARD-{suffix}", process=copy.compare))
        back_result = await run_pass(run, replace(backward, name=f"SHADOW-BACK-{suffix}", process=copy.compare_back))
        reported = await self.differences.count(run.job.id)
        if difference_count := forward_result.wrong + back_result.wrong + reported:
            await self._copy_again(run, difference_count)
        else:
            await self._enter(run, MovePhase.SWITCHED)

    async def _copy_again(self, run: JobRun, difference_count: int) -> None:
        """Returns to BACKFILL. Raises Conflict after several rounds, so that an operator looks for the cause."""
        await run.save(round=run.job.round + 1)
        await self._enter(run, MovePhase.BACKFILL)
        if run.job.round % MAX_IDLE_ROUNDS == 0:
            raise Conflict(
                f"{difference_count:,} items or reads differ between the two tables; look for `second_table_differs` in"
                " the logs of the servers, then resume or cancel the move"
            )

    async def _switch(self, run: JobRun, _: TableMove) -> None:
        """Waits until every server reads from the target. Until then the move can be cancelled."""
        await self._settle(run, MovePhase.SWITCHED)
        await self._enter(run, MovePhase.CLEARING)

    async def _roll_back(self, run: JobRun, move: TableMove) -> None:
        """Undoes one phase of a cancelled move.

        The phases are undone in reverse order, so that no server reads a table that another server does not write."""
        await self._settle(run, move.phase)
        if move.phase is MovePhase.SWITCHED:
            await self._change(run, TenantEventKind.MOVE_ROLLED_BACK, enter_phase(run.job.id, MovePhase.BACKFILL))
        else:
            await self._change(run, TenantEventKind.MOVE_ROLLED_BACK, roll_back(run.job.id))

    async def _clear(self, run: JobRun, move: TableMove) -> None:
        """Waits until no server reads or writes the old copy, and deletes it."""
        await self._settle(run, MovePhase.CLEARING)
        tenant, old_placement = run.job.tenant, move.target.other
        if old_placement is Placement.SILO:
            run.lease.check()
            await self.silos.drop(tenant)
        else:
            old_table = _OldTable(run.lease.guard(self.table_in(tenant, old_placement)))
            purge = ScanPass(
                name="CLEARING",
                process=old_table.purge,
                fence=Fence.for_tenant(tenant),
                table=self.table_name(tenant, old_placement),
                single_segment=True,
            )
            await repeat_until_clean(run, purge, replace(purge, name="VERIFYING", process=old_table.count))
        run.resources.failpoint("cleared")
        await self._change(
            run,
            TenantEventKind.MOVE_ROLLED_BACK if move.is_cancelled else TenantEventKind.MOVED,
            finish_move(run.job.id),
        )

    def _passes(self, run: JobRun, move: TableMove) -> tuple[CopyPass, ScanPass, ScanPass]:
        """Returns the functions that copy and compare pages, a pass over the source, and a pass over the target."""
        tenant, fence = run.job.tenant, Fence.for_tenant(run.job.tenant)
        source, target = self.table_name(tenant, move.target.other), self.table_name(tenant, move.target)
        copy = CopyPass(table=run.lease.guard(self.table_for_both(tenant)), source=source, target=target)
        forward = ScanPass(name="COPYING", process=copy.copy, fence=fence, table=source)
        backward = ScanPass(name="DELETING", process=copy.clear, fence=fence, table=target, single_segment=True)
        return copy, forward, backward

    async def _check_cancelled(self, run: JobRun) -> None:
        """Raises MoveCancelled if an operator has cancelled the move."""
        move = await self._current_move(run)
        if move is None or move.is_cancelled:
            raise MoveCancelled

    async def _settle(self, run: JobRun, phase: MovePhase) -> None:
        """Waits for the whole settle time, until every server acts on the tenant as it is in this phase.

        A worker that takes over waits for the whole time again, since it cannot trust another machine's clock."""
        await run.save(phase=f"{phase}-SETTLING")
        await run.wait(self.settle_time)
        run.resources.failpoint(f"settled {phase}")

    async def _enter(self, run: JobRun, phase: MovePhase) -> None:
        await self._change(run, PHASE_EVENTS[phase], enter_phase(run.job.id, phase))

    async def _change(self, run: JobRun, event: TenantEventKind, change: TenantChange) -> None:
        """Changes the tenant and writes an event. Raises Throttled if the lease is lost."""
        run.resources.failpoint(f"before {event}")
        detail = {"job": run.job.id, "copied": run.job.items_changed}

        def change_under_lease(tenant: Tenant) -> Tenant:
            run.lease.check()
            return change(tenant)

        self.on_tenant_changed(await self.tenants.change(run.job.tenant, event, change_under_lease, detail=detail))
        run.resources.failpoint(f"after {event}")


async def _count(items: Sequence[Item]) -> PassResult:
    return PassResult(counts={"counted": len(items)})


@dataclass(frozen=True, slots=True)
class _OldTable:
    """The functions that purge and count pages of the old copy."""

    table: Table

    async def purge(self, items: Sequence[Item]) -> PassResult:
        units = await delete_items(self.table, [{"PK": item["PK"], "SK": item["SK"]} for item in items])
        return PassResult(units=units, counts={"purged": len(items)})

    async def count(self, items: Sequence[Item]) -> PassResult:
        return PassResult(wrong=len(items))
