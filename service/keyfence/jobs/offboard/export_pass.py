"""Export, purge and index check, page by page."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

import orjson
import structlog

from keyfence.errors import Conflict, Internal
from keyfence.jobs.offboard.export_file import (
    ExportDamaged,
    ExportFile,
    chain_lines,
    digest_export,
    initial_hash,
    items,
    key_of,
)
from keyfence.jobs.offboard.start import OffboardingPhase, OffboardingState
from keyfence.store.codec import Item
from keyfence.store.dynamodb.flow_control import Pacer
from keyfence.store.entity import INDEXES, Index
from keyfence.store.item_writes import delete_items
from keyfence.store.keys import Fence
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.tenancy.tenant import Placement

log = structlog.get_logger(__name__)


class OffboardingHalted(Exception):
    """The offboarding goes on from `job` when what is wrong has been put right."""

    def __init__(self, job: OffboardingState, error: Conflict) -> None:
        super().__init__(error.message)
        self.job = job
        self.error = error


@dataclass(frozen=True, slots=True)
class ExportPass:
    """Pages of about a second's worth of units. A round that finds nothing shows that the table has nothing left."""

    sweep: Callable[[OffboardingState], TableScan]
    file: ExportFile
    rate: Pacer
    limit: int

    async def page(self, job: OffboardingState) -> OffboardingState:
        fence = Fence.for_tenant(job.tenant)
        after = orjson.loads(job.after) if job.after else None
        page = await self.sweep(job).page(fence=fence, after=after, limit=self.limit)
        own = [item for item in page.items if fence.contains(item["PK"]["S"])]
        head, lines = chain_lines(job.head, own)
        size = await asyncio.to_thread(self.file.append, job.size, lines) if own else job.size
        await self.rate.wait(page.units)
        written = replace(
            job,
            after=orjson.dumps(page.next_key).decode() if page.next_key else None,
            scanned=job.scanned + page.scanned,
            found=job.found + len(own),
            strays=job.strays + _told([item["PK"]["S"] for item in page.items if item not in own]),
            lines=job.lines + len(own),
            size=size,
            head=head,
        )
        return written if page.next_key else _ended(written)

    async def prove(self, job: OffboardingState) -> OffboardingState:
        """Nothing is purged that cannot be read from the disk."""
        await asyncio.to_thread(check, job, self.file)
        return replace(job, phase=OffboardingPhase.PURGING)


def start_round(job: OffboardingState) -> OffboardingState:
    """At the beginning of a round."""
    return replace(job, phase=OffboardingPhase.EXPORTING, index="table", after=None, scanned=0, found=0, strays=0)


def next_round(job: OffboardingState) -> OffboardingState:
    return replace(start_round(job), round=job.round + 1)


def replaceable(job: OffboardingState) -> bool:
    """Whether all that was exported is still in the table, so that a bad export can be made again."""
    return job.round == 1 and job.phase in {OffboardingPhase.EXPORTING, OffboardingPhase.PROVING}


def restart_export(job: OffboardingState) -> OffboardingState:
    return replace(start_round(job), lines=0, size=0, head=initial_hash(job.export))


def check(job: OffboardingState, file: ExportFile) -> None:
    """Whether the file is what the job says of it."""
    file.append(job.size, b"")
    found = digest_export(file.path, job.export)
    if (found.lines, found.head, found.size) != (job.lines, job.head, job.size):
        raise ExportDamaged(
            f"{file.path} is not the export that was written: {found.lines:,} lines are right", line=None
        )


def _ended(job: OffboardingState) -> OffboardingState:
    if job.found:
        return replace(job, phase=OffboardingPhase.PROVING)
    if job.strays:
        words = f"{job.strays:,} items of others stand among this tenant's in an index; the log names their partitions"
        raise OffboardingHalted(next_round(job), Conflict(words))
    return replace(job, phase=OffboardingPhase.VERIFYING, index="gsi1", scanned=0)


def _told(partitions: list[str]) -> int:
    for partition in partitions:
        log.error("stray_in_index", partition=partition)
    return len(partitions)


@dataclass(slots=True)
class PurgePass:
    """Nothing else is deleted: an item that nobody exported is found by the next round."""

    table: Callable[[OffboardingState], Table]
    file: ExportFile
    rate: Pacer
    limit: int
    _lines: Iterator[tuple[str, bytes]] | None = None
    _at: int = field(default=0)

    async def some(self, job: OffboardingState) -> OffboardingState:
        keys = await asyncio.to_thread(self._next, job)
        if not keys:
            raise Internal(f"{job.export} ends before line {job.lines}")
        await self.rate.wait(await delete_items(self.table(job), keys))
        purged = replace(job, purged=job.purged + len(keys))
        return purged if purged.purged < job.lines else next_round(purged)

    def _next(self, job: OffboardingState) -> list[Item]:
        """The file is read once, unless another worker has begun; then it is proven before it is believed."""
        if self._lines is None or self._at != job.purged:
            check(job, self.file)
            self._lines = islice(items(self.file.path, job.export), job.purged, None)
        most = min(self.limit, job.lines - job.purged)
        keys = [key_of(text) for _, text in islice(self._lines, most)]
        self._at = job.purged + len(keys)
        return keys


LAG = 2.0
"""An index shows a deletion a moment after the table."""


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """Whatever is found sends the job back to the table, which is read as it is."""

    sweep: Callable[[OffboardingState], TableScan]
    rate: Pacer
    limit: int
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def page(self, job: OffboardingState) -> OffboardingState:
        index = cast("Index", job.index)
        after = orjson.loads(job.after) if job.after else None
        fence, sweep = Fence.for_tenant(job.tenant), self.sweep(job)
        page = await sweep.page(fence=fence, index=index, after=after, limit=self.limit)
        await self.rate.wait(page.units)
        looked = replace(job, scanned=job.scanned + page.scanned, found=job.found + len(page.items))
        if page.next_key:
            return replace(looked, after=orjson.dumps(page.next_key).decode())
        return await self._ended(replace(looked, after=None), index)

    async def _ended(self, job: OffboardingState, index: Index) -> OffboardingState:
        if job.found:
            await self.sleep(LAG)
            return next_round(job)
        if index != INDEXES[-1]:
            return replace(job, index=INDEXES[INDEXES.index(index) + 1])
        return replace(
            job, phase=OffboardingPhase.DROPPING if job.placement is Placement.SILO else OffboardingPhase.CERTIFYING
        )


def check_pool_next(job: OffboardingState) -> OffboardingState:
    """Its own table is gone; nobody should find anything in that of all."""
    return next_round(replace(job, placement=Placement.POOL))
