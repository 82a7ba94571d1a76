"""Runs a job: takes its lease, keeps the lease while the program works, and saves progress."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from typing import Any, TypeVar

import structlog

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.jobs.job_record import FINISHED, Job, JobId
from keyfence.jobs.job_store import JobStore
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import RETRY_AFTER_MS
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.store.tenant_location import LEASE_LOST
from keyfence.store.writes import Write

DEFAULT_PAGE_SIZE = 500
WAIT_STEP_SECONDS = 5.0
"""A wait is cut into steps of this length. The job is saved after each, which renews the lease."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


class JobPaused(Exception):
    """The job was asked to stop. Running it again resumes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResources:
    """The resources of every job: the store of its record, a scan of the shared table, limits and callbacks."""

    store: JobStore
    scan: TableScan
    units_per_second: float | None = None
    """Capacity units of reads and writes together, over all segments; no limit if None."""
    page_size: int | None = None
    """How many items of a segment are scanned between two checkpoints; about one second's worth if None."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    should_stop: Callable[[], bool] = lambda: False
    """Called between pages and steps."""
    failpoint: Callable[[str], None] = lambda _: None
    """Called with a name between any two effects. Tests raise here to show that a crash there does no harm."""
    on_progress: Callable[[Job], None] = lambda _: None


@dataclass(slots=True)
class JobRun:
    """One worker's run of a job, which its program uses.

    A program starts at its beginning on every run. It finds out from the record what is done, and skips it."""

    resources: JobResources
    job: Job
    renewed_at: float
    """When the lease was last renewed, by the monotonic clock."""
    pacer: Pacer = field(init=False)
    _guarded: list[DynamoDbCaller] = field(default_factory=list)
    _saving: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.pacer = Pacer(self.resources.units_per_second)

    async def save(self, *writes: Write[Any], **changes: Any) -> None:
        """Saves changes of the record, with other writes in the same transaction, and renews the lease."""
        if changes.get("phase", self.job.phase) != self.job.phase:
            changes = {"phase_started_at": self.resources.store.now(), "phase_ends_at": None, **changes}
        await self._save(*writes, **changes)
        self.resources.on_progress(self.job)

    async def _save(self, *writes: Write[Any], **changes: Any) -> None:
        async with self._saving:
            asked_at, after = time.monotonic(), replace(self.job, **changes)
            self.job = await self.resources.store.save(self.job, after, *writes)
            self._renewed(asked_at)

    def leased(self, table: Table) -> Table:
        """Makes every call of a table handle fail once the lease is lost, and returns the handle.

        A write that was right under the lease could destroy what the next worker has done."""
        self._guarded.append(table.caller)
        self._renewed(self.renewed_at)
        return table

    def check_lease(self) -> None:
        """Raises Throttled if the lease is lost. For effects that no table handle guards."""
        if time.monotonic() > self.renewed_at + self._lease_seconds:
            raise Throttled(LEASE_LOST, retryAfterMs=RETRY_AFTER_MS)

    def _renewed(self, at: float) -> None:
        self.renewed_at = at
        left = at + self._lease_seconds - time.monotonic()
        for caller in self._guarded:
            caller.location.leased_until = caller.clock() + left

    @property
    def _lease_seconds(self) -> float:
        return self.resources.store.lease.total_seconds()

    @asynccontextmanager
    async def keep_lease(self) -> AsyncIterator[None]:
        """Renews the lease in the background, however long a step of the body takes."""
        ended = asyncio.Event()
        keeper = asyncio.ensure_future(self._renew_until(ended))
        try:
            yield
        finally:
            ended.set()
            await asyncio.wait({keeper})

    async def _renew_until(self, ended: asyncio.Event) -> None:
        """Tries a failed renewal again until the lease expires. A lease that another worker has taken is lost."""
        while not await _is_set_within(self._lease_seconds / 3, ended):
            try:
                await self._save()
            except Conflict:
                self._renewed(-inf)
                return
            except KeyfenceError as error:
                log.warning("job_lease_not_renewed", job=self.job.id, reason=error.message)

    async def wait(self, duration: timedelta) -> None:
        """Sleeps and keeps the lease. It counts its own sleeps, since the clocks of machines differ."""
        left = duration.total_seconds()
        now = self.resources.store.now()
        await self.save(phase_started_at=now, phase_ends_at=now + duration)
        while left > 0:
            self.check_stop()
            await self.resources.sleep(step := min(left, WAIT_STEP_SECONDS))
            await self.save()
            left -= step

    def check_stop(self) -> None:
        if self.resources.should_stop():
            raise JobPaused

    async def finish(self) -> None:
        total = self.job.items_changed if self.job.items_total is None else self.job.items_total
        await self.save(phase=FINISHED, items_total=total, finished_at=self.resources.store.now())

    @property
    def page_size(self) -> int:
        """How many items of each segment to scan at a time: about one second's worth of units over all segments."""
        if self.resources.page_size is not None:
            return self.resources.page_size
        if self.resources.units_per_second is None:
            return DEFAULT_PAGE_SIZE
        return max(1, int(self.resources.units_per_second / self.job.segments))


async def _is_set_within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


async def complete_before_cancel(work: Coroutine[Any, Any, T]) -> T:
    """Awaits work. If this is cancelled meanwhile, the work is completed first, so that its result is saved."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


JobProgram = Callable[[JobRun], Awaitable[None]]


async def run_job(resources: JobResources, id: JobId, program: JobProgram) -> Job:
    """Runs a job until it is finished or asked to stop. Returns the job as it is then."""
    job = await resources.store.get(id)
    if job.finished_at:
        return job
    asked_at = time.monotonic()
    async with resources.store.leased(job) as taken:
        run = JobRun(resources, taken, asked_at)
        resources.on_progress(taken)
        with suppress(JobPaused):
            async with run.keep_lease():
                await program(run)
            await run.finish()
    return await resources.store.get(id)
