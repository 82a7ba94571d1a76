"""The lease of a job: a worker takes it, renews it while the job runs, and changes nothing after the lease is lost.

A job has at most one worker at a time. The record of the job says which worker has the lease and when it expires."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf

import structlog

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.jobs.job_record import Job, JobId
from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.worker_id import is_dead_local_worker
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import RETRY_AFTER_MS
from keyfence.store.table import Table
from keyfence.store.tenant_location import LEASE_LOST

RENEWALS_PER_LEASE = 3
"""A lease is renewed after each third of its duration, so that one failed renewal does no harm."""

log = structlog.get_logger(__name__)


@asynccontextmanager
async def take_lease(store: JobRepository, job: Job) -> AsyncIterator[Job]:
    """Takes the lease of a job for the body of the `with` block. Raises Conflict if another worker has the lease,
    unless that worker was a process of this machine that has ended."""
    expires_at = job.lease_expires_at
    if expires_at and expires_at > store.now() and not is_dead_local_worker(job.worker or ""):
        until = expires_at.isoformat(timespec="seconds")
        raise Conflict(f"another worker, {job.worker}, has the lease of this job until {until}", until=until)
    leased_job = await store.save(job, replace(job, worker=store.worker))
    try:
        yield leased_job
    finally:
        await store.release(leased_job.id)


@dataclass(slots=True)
class JobLease:
    """The lease that this worker has, measured by the monotonic clock of this machine.

    The clocks of machines differ, so the worker does not compare its clock with the time in the record."""

    job_id: JobId
    duration_seconds: float
    renewed_at: float
    """When the last successful renewal was requested, by the monotonic clock."""
    _guarded_callers: list[DynamoDbCaller] = field(default_factory=list)

    def guard(self, table: Table) -> Table:
        """Makes every call of a table handle fail once the lease is lost, and returns the handle.

        Without the lease a late write could destroy the work of the next worker."""
        self._guarded_callers.append(table.caller)
        self.renew_from(self.renewed_at)
        return table

    def check(self) -> None:
        """Raises Throttled if the lease is lost. Call it before effects that do not use a guarded table handle."""
        if time.monotonic() > self.renewed_at + self.duration_seconds:
            raise Throttled(LEASE_LOST, retryAfterMs=RETRY_AFTER_MS)

    def renew_from(self, requested_at: float) -> None:
        """Records a renewal. The lease is counted from the time of the request, since the answer may come much later
        than the write."""
        self.renewed_at = requested_at
        remaining_seconds = requested_at + self.duration_seconds - time.monotonic()
        for caller in self._guarded_callers:
            caller.location.leased_until = caller.clock() + remaining_seconds

    @asynccontextmanager
    async def keep(self, renew: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Calls `renew` in the background during the body of the `with` block, however long the body takes."""
        ended = asyncio.Event()
        keeper = asyncio.ensure_future(self._renew_until(ended, renew))
        try:
            yield
        finally:
            ended.set()
            await asyncio.wait({keeper})

    async def _renew_until(self, ended: asyncio.Event, renew: Callable[[], Awaitable[None]]) -> None:
        """Renews the lease until the event is set. A failed renewal is tried again.

        If another worker has taken the lease, this lease counts as lost."""
        while not await _is_set_within(self.duration_seconds / RENEWALS_PER_LEASE, ended):
            try:
                await renew()
            except Conflict:
                self.renew_from(-inf)
                return
            except KeyfenceError as error:
                log.warning("job_lease_not_renewed", job=self.job_id, reason=error.message)


async def _is_set_within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
