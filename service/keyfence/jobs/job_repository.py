"""`JobRepository`: reads the stored records of jobs, and saves their progress."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from keyfence.errors import Conflict, KeyfenceError, NotFound
from keyfence.jobs.access_patterns import job_by_id, jobs, newest_jobs, newest_jobs_of_tenant
from keyfence.jobs.job_record import JOB_ID_PREFIX, Job, JobId, JobSummary
from keyfence.jobs.worker_id import new_worker_id
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.ids import checked_id
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import Edge, Page
from keyfence.store.table import Table
from keyfence.store.time_buckets import page_over_time_buckets
from keyfence.store.writes import Write, put, update_model
from keyfence.tenancy.repository import FIRST_MONTH
from keyfence_iam.tenant import TenantId

LEASE_DURATION = timedelta(seconds=60)
"""How long a crashed worker blocks its job for the workers of other machines."""

NO_SUCH_JOB = partial(NotFound, "no such job")
TAKEN_OVER = partial(Conflict, "another worker has taken over this job")


def parse_job_id(text: str) -> JobId:
    return JobId(checked_id(JOB_ID_PREFIX, text))


@dataclass(frozen=True, slots=True)
class JobRepository:
    """The records of jobs as one worker reads and saves them.

    Each save renews the worker's lease. It raises Conflict if another worker has taken the lease."""

    table: Table
    worker: str = field(default_factory=new_worker_id)
    now: Callable[[], datetime] = timestamps.utc_now
    lease_duration: timedelta = LEASE_DURATION

    async def add(self, job: Job) -> Job:
        await self.table.write(put(jobs, job, when=absent()))
        return job

    async def find(self, id: JobId) -> Job | None:
        return await self.table.find(job_by_id, id=id)

    async def get(self, id: JobId) -> Job:
        if (job := await self.find(id)) is None:
            raise NO_SUCH_JOB()
        return job

    async def newest(self, tenant: TenantId | None = None, *, first: int, after: str | None = None) -> Page[Job]:
        """Returns a page of the jobs of one tenant, or of all tenants if `tenant` is None, the newest first."""
        pattern, values = (newest_jobs, {}) if tenant is None else (newest_jobs_of_tenant, {"tenant": tenant})
        page: Page[JobSummary] = await page_over_time_buckets(
            self.table,
            pattern,
            between=ValueRange(),
            oldest=FIRST_MONTH,
            newest=self.now(),
            first=first,
            after=after,
            **values,
        )
        records = await self.table.find_many(job_by_id, [{"id": edge.node.id} for edge in page.edges])
        edges = tuple(Edge(job, edge.cursor) for job, edge in zip(records, page.edges, strict=True) if job)
        return Page(edges=edges, has_next=page.has_next, has_previous=page.has_previous)

    async def save(self, before: Job, after: Job, *writes: Write[Any]) -> Job:
        """Saves a changed record and other writes in one transaction, and renews the lease.

        A record that is finished has no lease. Raises Conflict if the record has changed since `before` was read."""
        if after.finished_at:
            return await self._write(before, replace(after, worker=None), None, *writes)
        return await self._write(before, after, self.now() + self.lease_duration, *writes)

    async def release(self, id: JobId) -> None:
        """Ends the lease of this worker, so that the next worker need not wait.

        An error is ignored: then the lease expires by itself."""
        with suppress(KeyfenceError):
            job = await self.find(id)
            if job and job.worker == self.worker:
                await self._write(job, replace(job, worker=None), None)

    async def _write(self, before: Job, after: Job, lease_expires_at: datetime | None, *writes: Write[Any]) -> Job:
        saved = replace(after, lease_expires_at=lease_expires_at, updated_at=self.now(), version=before.version + 1)
        await self.table.write(update_model(jobs, before, saved, on_failure=TAKEN_OVER), *writes)
        return saved
