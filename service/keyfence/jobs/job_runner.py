"""Runs the program of a job under a lease. A program uses `JobRun` to save its progress and to wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import InitVar, dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

from keyfence.jobs.job_lease import JobLease, take_lease
from keyfence.jobs.job_record import FINISHED, Job, JobId
from keyfence.jobs.job_repository import JobRepository
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.scan import TableScan
from keyfence.store.writes import Write

DEFAULT_PAGE_SIZE = 500
"""How many items a page of a scan has if neither the page size nor the rate is limited."""

WAIT_STEP_SECONDS = 5.0
"""A wait consists of steps of this length. The record is saved after each step, which renews the lease."""

T = TypeVar("T")


class JobPaused(Exception):
    """The job was asked to stop. Running it again resumes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResources:
    """The resources of every job: the repository of jobs, a scan of the shared table, limits and callbacks."""

    store: JobRepository
    scan: TableScan
    units_per_second: float | None = None
    """The limit of capacity units for reads and writes together, over all segments. None means no limit."""
    page_size: int | None = None
    """How many items of a segment are scanned between two checkpoints. None: as many as take about one second."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    should_stop: Callable[[], bool] = lambda: False
    """Called between pages and steps."""
    failpoint: Callable[[str], None] = lambda _: None
    """Called with a name between any two effects. A test raises an error in this call, to show that a crash at this
    point does no harm."""
    on_progress: Callable[[Job], None] = lambda _: None


@dataclass(slots=True)
class JobRun:
    """One run of a job by one worker.

    A program starts at its beginning on every run. It reads in the record which steps are done, and skips them."""

    resources: JobResources
    job: Job
    lease_requested_at: InitVar[float]
    """When the lease was requested, by the monotonic clock."""
    lease: JobLease = field(init=False)
    pacer: Pacer = field(init=False)
    _save_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self, lease_requested_at: float) -> None:
        duration = self.resources.store.lease_duration
        self.lease = JobLease(self.job.id, duration.total_seconds(), lease_requested_at)
        self.pacer = Pacer(self.resources.units_per_second)

    async def save(self, *writes: Write[Any], **changes: Any) -> None:
        """Saves changed fields of the record and other writes in one transaction, and renews the lease."""
        if changes.get("phase", self.job.phase) != self.job.phase:
            changes = {"phase_started_at": self.resources.store.now(), "phase_ends_at": None, **changes}
        await self._save(*writes, **changes)
        self.resources.on_progress(self.job)

    async def _save(self, *writes: Write[Any], **changes: Any) -> None:
        async with self._save_lock:
            requested_at, after = time.monotonic(), replace(self.job, **changes)
            self.job = await self.resources.store.save(self.job, after, *writes)
            self.lease.renew_from(requested_at)

    def keep_lease(self) -> AbstractAsyncContextManager[None]:
        """Renews the lease in the background, by saving the record without changes."""
        return self.lease.keep(self._save)

    async def wait(self, duration: timedelta) -> None:
        """Sleeps for the whole duration and keeps the lease.

        It does not compare the clock with a stored time, because a machine with another clock may have stored it."""
        remaining_seconds = duration.total_seconds()
        now = self.resources.store.now()
        await self.save(phase_started_at=now, phase_ends_at=now + duration)
        while remaining_seconds > 0:
            self.check_stop()
            step_seconds = min(remaining_seconds, WAIT_STEP_SECONDS)
            await self.resources.sleep(step_seconds)
            await self.save()
            remaining_seconds -= step_seconds

    def check_stop(self) -> None:
        """Raises JobPaused if the job was asked to stop."""
        if self.resources.should_stop():
            raise JobPaused

    async def finish(self) -> None:
        items_total = self.job.items_changed if self.job.items_total is None else self.job.items_total
        await self.save(phase=FINISHED, items_total=items_total, finished_at=self.resources.store.now())

    def page_size(self, segment_count: int = 1) -> int:
        """Returns how many items a page of each segment has. All segments together read about one second's worth of
        units."""
        if self.resources.page_size is not None:
            return self.resources.page_size
        if self.resources.units_per_second is None:
            return DEFAULT_PAGE_SIZE
        return max(1, int(self.resources.units_per_second / segment_count))


async def complete_before_cancel(work: Coroutine[Any, Any, T]) -> T:
    """Awaits work. If this task is cancelled meanwhile, the work is completed first, so that its result is saved."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


JobProgram = Callable[[JobRun], Awaitable[None]]
"""A function that does the steps of one kind of job."""


async def run_job(resources: JobResources, id: JobId, program: JobProgram) -> Job:
    """Runs a job until it is finished or asked to stop, and returns its record.

    Raises Conflict if another worker has the lease."""
    job = await resources.store.get(id)
    if job.finished_at:
        return job
    lease_requested_at = time.monotonic()
    async with take_lease(resources.store, job) as leased_job:
        run = JobRun(resources, leased_job, lease_requested_at)
        resources.on_progress(leased_job)
        with suppress(JobPaused):
            async with run.keep_lease():
                await program(run)
            await run.finish()
    return await resources.store.get(id)
