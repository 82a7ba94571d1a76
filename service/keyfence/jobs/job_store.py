"""Stored jobs: who may work on one (a lease), and how progress is saved."""

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ulid import ULID

from keyfence.errors import Conflict, KeyfenceError, NotFound
from keyfence.jobs.job_record import (
    JOB_ID_PREFIX,
    Job,
    JobId,
    JobSummary,
    ScanCheckpoint,
    checkpoint_by_segment,
    job_by_id,
    jobs,
    newest_jobs,
    newest_jobs_of_tenant,
)
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

LEASE = timedelta(seconds=60)

NO_SUCH_JOB = partial(NotFound, "no such job")
TAKEN_OVER = partial(Conflict, "another worker has taken over this job")


def parse_job_id(text: str) -> JobId:
    return JobId(checked_id(JOB_ID_PREFIX, text))


def worker_id() -> str:
    """Returns a new id that names this machine and this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{ULID()}"


def is_dead_local_worker(worker: str) -> bool:
    """Tells whether the worker was a process of this machine that has ended. Its lease need not be waited for."""
    host, _, process = worker.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


@dataclass(frozen=True, slots=True)
class JobStore:
    """Jobs as one worker reads and saves them.

    Each save renews the worker's lease. A save by a worker whose lease another one has taken raises Conflict."""

    table: Table
    worker: str = field(default_factory=worker_id)
    now: Callable[[], datetime] = timestamps.utc_now
    lease: timedelta = LEASE

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
        """Returns jobs of one tenant or of all, the newest first."""
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
        found = await self.table.find_many(job_by_id, [{"id": edge.node.id} for edge in page.edges])
        edges = tuple(Edge(job, edge.cursor) for job, edge in zip(found, page.edges, strict=True) if job)
        return Page(edges=edges, has_next=page.has_next, has_previous=page.has_previous)

    async def checkpoints(self, job: Job, scan_pass: str, segments: int) -> list[ScanCheckpoint]:
        """Returns the checkpoint of every segment of a pass; those that are not stored yet have version 0."""
        now = self.now()
        fresh = [
            ScanCheckpoint(
                job_id=job.id, scan_pass=scan_pass, segment=number, segments=segments, created_at=now, updated_at=now
            )
            for number in range(segments)
        ]
        keys = [{"job_id": job.id, "scan_pass": scan_pass, "segment": number} for number in range(segments)]
        stored = await self.table.find_many(checkpoint_by_segment, keys)
        return [old or new for old, new in zip(stored, fresh, strict=True)]

    @asynccontextmanager
    async def leased(self, job: Job) -> AsyncIterator[Job]:
        """Takes the lease of a job for the body of the `with` block. Raises Conflict if another worker has it."""
        taken = await self._take(job)
        try:
            yield taken
        finally:
            await self._release(taken)

    async def _take(self, job: Job) -> Job:
        expires = job.lease_expires_at
        if expires and expires > self.now() and not is_dead_local_worker(job.worker or ""):
            until = expires.isoformat(timespec="seconds")
            raise Conflict(f"another worker, {job.worker}, has the lease of this job until {until}", until=until)
        return await self.save(job, replace(job, worker=self.worker))

    async def _release(self, taken: Job) -> None:
        """Lets the next worker start without waiting. If this fails, the lease expires by itself."""
        with suppress(KeyfenceError):
            job = await self.find(taken.id)
            if job and job.worker == self.worker:
                await self._write(job, replace(job, worker=None), None)

    async def save(self, before: Job, after: Job, *writes: Write[Any]) -> Job:
        """Saves the job and other writes in one transaction, and renews the lease. A finished job has no lease."""
        if after.finished_at:
            return await self._write(before, replace(after, worker=None), None, *writes)
        return await self._write(before, after, self.now() + self.lease, *writes)

    async def _write(self, before: Job, after: Job, expires: datetime | None, *writes: Write[Any]) -> Job:
        saved = replace(after, lease_expires_at=expires, updated_at=self.now(), version=before.version + 1)
        await self.table.write(update_model(jobs, before, saved, on_failure=TAKEN_OVER), *writes)
        return saved
