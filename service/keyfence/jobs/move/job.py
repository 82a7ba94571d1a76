"""The migration of kind MOVE: a tenant that is being served goes to a table of its own, or comes back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from keyfence.errors import Conflict
from keyfence.jobs.move.copy_pass import CopyPass
from keyfence.jobs.move.differences import ShadowDifferences
from keyfence.jobs.move.start import DONE, PUBLISHED, TURNED_BACK, enter_phase, finish_move, roll_back
from keyfence.jobs.runner import MOST_ROUNDS, JobRun
from keyfence.jobs.scan_pass import PassResult, ScanPass
from keyfence.store.codec import Item
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence.store.item_writes import delete_items
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import MovePhase, Placement, TableMove, Tenant
from keyfence_iam.tenant import TenantId

ORDER = tuple(MovePhase)


class MoveCancelled(Exception):
    """Somebody has called the move off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJob:
    """The program. Where a worker finds the tenant in a phase, it does what that phase is for, and publishes the next.

    `at` gives a handle at one of the tables, `at_both` one whose credentials reach both; `told` hears of the tenant."""

    register: TenantRepository
    differences: ShadowDifferences
    silos: SiloTables
    table_of: Callable[[TenantId, Placement], str]
    at: Callable[[TenantId, Placement], Table]
    at_both: Callable[[TenantId], Table]
    settle: timedelta
    told: Callable[[Tenant], None] = lambda _: None

    async def __call__(self, run: JobRun) -> None:
        steps = {
            MovePhase.PLAN: self._plan,
            MovePhase.DUAL: self._dual,
            MovePhase.BACKFILL: self._backfill,
            MovePhase.SHADOW: self._shadow,
            MovePhase.SWITCHED: self._switched,
            MovePhase.CLEARING: self._clear,
        }
        while (move := await self._move(run)) is not None:
            try:
                await (steps[move.phase] if self._goes_on(move) else self._retreat)(run, move)
            except MoveCancelled:
                continue

    @staticmethod
    def _goes_on(move: TableMove) -> bool:
        return not move.back or move.phase is MovePhase.CLEARING

    async def _move(self, run: JobRun) -> TableMove | None:
        """Of this migration; None when it is over."""
        move = (await self.register.get(run.migration.tenant)).move
        return move if move and move.migration == run.migration.id else None

    async def _plan(self, run: JobRun, move: TableMove) -> None:
        """Nobody writes there before there is a table."""
        tenant = run.migration.tenant
        if move.target is Placement.SILO:
            await self.silos.create(tenant)
        run.means.seam("made")
        source = self.table_of(tenant, move.target.other)
        counted = await run.over(ScanPass(name="COUNTING", step=_seen, inside=Fence.for_tenant(tenant), table=source))
        await run.keep(items_total=counted.counts.get("seen", 0))
        await self._publish(run, MovePhase.DUAL)

    async def _dual(self, run: JobRun, _: TableMove) -> None:
        await self._settled(run, MovePhase.DUAL)
        await self._publish(run, MovePhase.BACKFILL)

    async def _backfill(self, run: JobRun, move: TableMove) -> None:
        """What servers wrote before all of them wrote to both is put right too, and what they deleted goes."""
        steps, there, back = self._ways(run, move)
        await self._unless_called_off(run)
        await run.until_right(replace(there, step=steps.copy), replace(there, name="COMPARING", step=steps.compare))
        await self._unless_called_off(run)
        await run.until_right(replace(back, step=steps.clear), replace(back, name="BACK", step=steps.compare_back))
        run.check_lease()
        await self.differences.forget(run.migration.id)
        await self._publish(run, MovePhase.SHADOW)

    async def _shadow(self, run: JobRun, move: TableMove) -> None:
        """Servers answer from both and compare, and everything is compared once more."""
        await self._settled(run, MovePhase.SHADOW)
        steps, there, back = self._ways(run, move)
        named = [f"SHADOW-{way}-{run.migration.round}" for way in ("THERE", "BACK")]
        found = await run.over(replace(there, name=named[0], step=steps.compare))
        found += await run.over(replace(back, name=named[1], step=steps.compare_back))
        if differing := found.wrong + await self.differences.count(run.migration.id):
            await self._again(run, differing)
        else:
            await self._publish(run, MovePhase.SWITCHED)

    async def _again(self, run: JobRun, differing: int) -> None:
        """From copying on; after so many rounds somebody has to look at it first."""
        await run.keep(round=run.migration.round + 1)
        await self._publish(run, MovePhase.BACKFILL)
        if run.migration.round % MOST_ROUNDS == 0:
            words = f"{differing:,} items or answers differ; look for `shadow_differs` in the logs of servers"
            raise Conflict(f"{words}, and go on, or call the move off")

    async def _switched(self, run: JobRun, _: TableMove) -> None:
        """The last step that can be taken back."""
        await self._settled(run, MovePhase.SWITCHED)
        await self._publish(run, MovePhase.CLEARING)

    async def _retreat(self, run: JobRun, move: TableMove) -> None:
        """The way that it came: nobody reads where somebody might not write any more."""
        await self._settled(run, move.phase)
        phase = MovePhase.BACKFILL if move.phase is MovePhase.SWITCHED else None
        changed = enter_phase(run.migration.id, phase) if phase else roll_back(run.migration.id)
        await self._change(run, TURNED_BACK, changed)

    async def _clear(self, run: JobRun, move: TableMove) -> None:
        """What was left behind goes, when nobody reads or writes it any more."""
        await self._settled(run, MovePhase.CLEARING)
        tenant, left = run.migration.tenant, move.target.other
        if left is Placement.SILO:
            run.check_lease()
            await self.silos.drop(tenant)
        else:
            steps, table = _Purging(run.leased(self.at(tenant, left))), self.table_of(tenant, left)
            once = ScanPass(name="CLEARING", step=steps.purge, inside=Fence.for_tenant(tenant), table=table, whole=True)
            await run.until_right(once, replace(once, name="CLEARED", step=steps.count))
        run.means.seam("cleared")
        kind = TURNED_BACK if move.back else DONE
        await self._change(run, kind, finish_move(run.migration.id))

    def _ways(self, run: JobRun, move: TableMove) -> tuple[CopyPass, ScanPass, ScanPass]:
        """What is done to a page, over the source and over the target."""
        tenant, fence = run.migration.tenant, Fence.for_tenant(run.migration.tenant)
        source, target = self.table_of(tenant, move.target.other), self.table_of(tenant, move.target)
        steps = CopyPass(table=run.leased(self.at_both(tenant)), source=source, target=target)
        there = ScanPass(name="COPYING", step=steps.copy, inside=fence, table=source)
        return steps, there, ScanPass(name="TIDYING", step=steps.clear, inside=fence, table=target, whole=True)

    async def _unless_called_off(self, run: JobRun) -> None:
        move = await self._move(run)
        if move is None or move.back:
            raise MoveCancelled

    async def _settled(self, run: JobRun, phase: MovePhase) -> None:
        """By the clock of this worker alone: who takes over waits once more."""
        await run.keep(phase=f"{phase}-SETTLING")
        await run.wait(self.settle)
        run.means.seam(f"settled {phase}")

    async def _publish(self, run: JobRun, phase: MovePhase) -> None:
        await self._change(run, PUBLISHED[phase], enter_phase(run.migration.id, phase))

    async def _change(self, run: JobRun, kind: str, changed: Callable[[Tenant], Tenant]) -> None:
        run.means.seam(f"before {kind}")
        detail = {"migration": run.migration.id, "copied": run.migration.items_copied}

        def leased(tenant: Tenant) -> Tenant:
            run.check_lease()
            return changed(tenant)

        self.told(await self.register.change(run.migration.tenant, kind, leased, detail=detail))
        run.means.seam(f"after {kind}")


async def _seen(items: Sequence[Item]) -> PassResult:
    return PassResult(counts={"seen": len(items)})


@dataclass(frozen=True, slots=True)
class _Purging:
    """What is done to a page of what was left behind."""

    table: Table

    async def purge(self, items: Sequence[Item]) -> PassResult:
        units = await delete_items(self.table, [{"PK": item["PK"], "SK": item["SK"]} for item in items])
        return PassResult(units=units, counts={"purged": len(items)})

    async def count(self, items: Sequence[Item]) -> PassResult:
        return PassResult(wrong=len(items))
