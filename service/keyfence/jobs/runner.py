"""`JobRun`, `run_job` (resume, pause, keep-alive, settle), `JobResources`, `BackgroundJobs`."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from typing import Any, TypeVar

import structlog

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.jobs.job import Job, JobId, ScanCheckpoint
from keyfence.jobs.lease import JobStore
from keyfence.jobs.scan_pass import PassResult, ScanPass, advance_checkpoint, resume_key, sum_checkpoints
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.errors import RETRY_AFTER_MS
from keyfence.store.dynamodb.flow_control import Pacer
from keyfence.store.scan import ScanSegment, TableScan
from keyfence.store.table import Table
from keyfence.store.tenant_location import LEASE_LOST


def never() -> bool:
    return False


def nothing(_: object) -> None:
    """Nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResources:
    """The sweep reads; what changes items is the business of steps."""

    records: JobStore
    sweep: TableScan
    rate: float | None = None
    """Units a second, of reads and writes together, over all segments."""
    page: int | None = None
    """How many items of a segment are scanned from one checkpoint to the next; about a second's worth if None."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    stop: Callable[[], bool] = never
    """Asked between pages."""
    seam: Callable[[str], None] = nothing
    """Called between any two things that could be torn apart."""
    tell: Callable[[Job], None] = nothing


DEFAULT_PAGE = 500
MOST_ROUNDS = 5
NAP = 5.0
FINISHED = "FINISHED"

T = TypeVar("T")

log = structlog.get_logger(__name__)


class JobPaused(Exception):
    """It was told to stop, and goes on from here when it is run again."""


@dataclass(slots=True)
class JobRun:
    """A program is run from its beginning every time: what was done before is known by the record and passed over."""

    means: JobResources
    migration: Job
    taken_at: float
    rate: Pacer = field(init=False)
    _leased: list[DynamoDbCaller] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.rate = Pacer(self.means.rate)

    async def keep(self, moved: Sequence[tuple[ScanCheckpoint, ScanCheckpoint]] = (), **changes: Any) -> None:
        """What the program wants to be known of the next worker; it renews the lease."""
        await self._keep(moved, **changes)
        self.means.tell(self.migration)

    async def _keep(self, moved: Sequence[tuple[ScanCheckpoint, ScanCheckpoint]] = (), **changes: Any) -> None:
        async with self._turn:
            asked_at, after = time.monotonic(), replace(self.migration, **changes)
            self.migration = await self.means.records.keep(self.migration, after, moved)
            self._taken(asked_at)

    def leased(self, table: Table) -> Table:
        """Nothing is asked by it after the lease: what was right then may destroy what another worker has made."""
        self._leased.append(table.caller)
        self._taken(self.taken_at)
        return table

    def check_lease(self) -> None:
        """Before what cannot be asked by a leased table."""
        if time.monotonic() > self.taken_at + self.means.records.lease.total_seconds():
            raise Throttled(LEASE_LOST, retryAfterMs=RETRY_AFTER_MS)

    def _taken(self, at: float) -> None:
        self.taken_at = at
        left = at + self.means.records.lease.total_seconds() - time.monotonic()
        for caller in self._leased:
            caller.location.leased_until = caller.clock() + left

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """However long a page or a table takes, the lease is kept meanwhile."""
        over = asyncio.Event()
        keeper = asyncio.ensure_future(self._hold(over))
        try:
            yield
        finally:
            over.set()
            await asyncio.wait({keeper})

    async def _hold(self, over: asyncio.Event) -> None:
        """What cannot be kept is lost in time, and what another has taken is lost at once."""
        while not await _set_within(self.means.records.lease.total_seconds() / 3, over):
            try:
                await self._keep()
            except Conflict:
                self._taken(-inf)
                return
            except KeyfenceError as error:
                log.warning("lease_not_kept", migration=self.migration.id, why=error.message)

    async def over(self, one: ScanPass) -> PassResult:
        """Page by page in all segments at once, each page kept when its step is done; nothing where all are done."""
        segments: Sequence[ScanCheckpoint] = await self.means.records.segments(
            self.migration, one.name, 1 if one.whole else self.migration.segments
        )
        if self.migration.phase != one.name and not all(segment.done for segment in segments):
            await self.keep(phase=one.name, items_scanned=0, counts={})
        while not all(segment.done for segment in segments):
            self.check()
            segments = await _undisturbed(self._beat(one, segments))
        return sum_checkpoints(segments)

    async def until_right(self, change: ScanPass, verify: ScanPass) -> PassResult:
        """Both, again and again until verifying finds nothing wrong; not for ever where a run comes no nearer to it."""
        least, idle = inf, 0
        while True:
            await self.over(replace(change, name=f"{change.name}-{self.migration.round}"))
            found = await self.over(replace(verify, name=f"{verify.name}-{self.migration.round}"))
            if not found.wrong:
                return found
            least, idle = (found.wrong, 1) if found.wrong < least else (least, idle + 1)
            await self.keep(round=self.migration.round + 1)
            if idle == MOST_ROUNDS:
                words = f"after {MOST_ROUNDS} rounds {found.wrong:,} items are still wrong; find out who writes them"
                raise Conflict(words)

    async def wait(self, duration: timedelta) -> None:
        """Holding the lease, and by no clock that somebody could set."""
        left = duration.total_seconds()
        while left > 0:
            self.check()
            await self.means.sleep(nap := min(left, NAP))
            await self.keep()
            left -= nap

    async def finish(self) -> None:
        total = self.migration.items_total
        copied = self.migration.items_copied if total is None else total
        await self.keep(phase=FINISHED, items_total=copied, finished_at=self.means.records.now())

    def check(self) -> None:
        if self.means.stop():
            raise JobPaused

    async def _beat(self, one: ScanPass, segments: Sequence[ScanCheckpoint]) -> Sequence[ScanCheckpoint]:
        """A page of each segment. Where some fail, what the others did is kept all the same."""
        self.means.seam(f"before {one.name}")
        due = [segment for segment in segments if not segment.done]
        came = await asyncio.gather(*(self._page(one, segment) for segment in due), return_exceptions=True)
        self.means.seam(f"stepped {one.name}")
        moved = [(old, new) for old, new in zip(due, came, strict=True) if isinstance(new, ScanCheckpoint)]
        newest = {segment.number: segment for segment in (*segments, *(new for _, new in moved))}
        await self._keep_page(moved, sum_checkpoints(newest.values()))
        self.means.seam(f"kept {one.name}")
        for failure in came:
            if isinstance(failure, BaseException):
                raise failure
        return list(newest.values())

    async def _keep_page(self, moved: Sequence[tuple[ScanCheckpoint, ScanCheckpoint]], so_far: PassResult) -> None:
        copied = self.migration.items_copied + sum(new.changed - old.changed for old, new in moved)
        await self.keep(moved, items_scanned=so_far.scanned, items_copied=copied, counts=so_far.told)

    async def _page(self, one: ScanPass, segment: ScanCheckpoint) -> ScanCheckpoint:
        page = await self._sweep(one).page(
            fence=one.inside,
            index=one.index,
            after=resume_key(segment),
            limit=self._limit,
            segment=ScanSegment(segment.number, segment.of),
        )
        await self.rate.wait(page.units)
        own = [item for item in page.items if one.inside is None or one.inside.contains(item["PK"]["S"])]
        done = await one.step(own) if own else PassResult()
        await self.rate.wait(done.units)
        return advance_checkpoint(segment, page, done, self.means.records.now())

    def _sweep(self, one: ScanPass) -> TableScan:
        sweep = self.means.sweep
        return replace(sweep, caller=replace(sweep.caller, table=one.table or sweep.caller.table))

    @property
    def _limit(self) -> int:
        """About a second's worth of units, over all segments."""
        second = DEFAULT_PAGE if self.means.rate is None else max(1, int(self.means.rate / self.migration.segments))
        return self.means.page or second


async def _set_within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Whoever cancels it waits until what is in hand is kept."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


JobProgram = Callable[[JobRun], Awaitable[None]]


async def run_job(means: JobResources, id: JobId, program: JobProgram) -> Job:
    """Until it is finished or told to stop; the migration as far as it has come."""
    found = await means.records.get(id)
    if found.finished_at:
        return found
    asked_at = time.monotonic()
    async with means.records.held(found) as taken:
        run = JobRun(means, taken, asked_at)
        means.tell(taken)
        with suppress(JobPaused):
            async with run.held():
                await program(run)
            await run.finish()
    return await means.records.get(id)


CarryOn = Callable[[Job], Awaitable[object]]


class BackgroundJobs:
    """Each once at a time. What ends before its time waits for somebody who asks for the same again."""

    def __init__(self, carry_on: CarryOn) -> None:
        self._carry_on = carry_on
        self._tasks: dict[JobId, asyncio.Task[None]] = {}

    def __call__(self, migration: Job) -> None:
        if migration.id not in self._tasks:
            task = self._tasks[migration.id] = asyncio.ensure_future(self._attend(migration))
            task.add_done_callback(lambda _: self._tasks.pop(migration.id, None))

    async def _attend(self, migration: Job) -> None:
        try:
            await self._carry_on(migration)
        except KeyfenceError as error:
            log.warning("migration_stopped", migration=migration.id, kind=migration.kind, why=error.message)
        except Exception:
            log.exception("migration_failed", migration=migration.id, kind=migration.kind)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
