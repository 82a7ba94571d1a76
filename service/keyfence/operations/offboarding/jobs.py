"""The jobs of offboarding, each held by one worker at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from keyfence.errors import Conflict
from keyfence.migrations.worker import has_ended, this_worker
from keyfence.store import clock
from keyfence.store.table import Table
from keyfence.store.write import revise
from keyfence.tenancy.access import jobs, offboarding_by_id
from keyfence.tenancy.offboarding import Job, Phase, job_id
from keyfence_iam.boundary import TenantId

LEASE = timedelta(seconds=60)

TAKEN_OVER = partial(Conflict, "another worker has taken over")


@dataclass(frozen=True, slots=True)
class Jobs:
    """A lease is renewed whenever the job is kept, and what its worker does after it was lost is not."""

    table: Table
    worker: str = field(default_factory=this_worker)
    now: Callable[[], datetime] = clock.now
    lease: timedelta = LEASE

    async def find(self, tenant: TenantId) -> Job | None:
        return await self.table.find(offboarding_by_id, id=job_id(tenant))

    async def take(self, job: Job) -> Job:
        if job.leased_until and job.leased_until > self.now() and not has_ended(job.worker or ""):
            until = job.leased_until.isoformat(timespec="seconds")
            raise Conflict(f"another worker, {job.worker}, is at it until {until} at least", until=until)
        return await self.keep(job, replace(job, worker=self.worker))

    async def keep(self, before: Job, after: Job) -> Job:
        if after.phase is Phase.FINISHED:
            return await self._revise(before, replace(after, worker=None), None)
        return await self._revise(before, after, self.now() + self.lease)

    async def release(self, job: Job) -> Job:
        return await self._revise(job, replace(job, worker=None), None)

    async def _revise(self, before: Job, after: Job, until: datetime | None) -> Job:
        kept = replace(after, leased_until=until, updated_at=self.now(), version=before.version + 1)
        await self.table.write(revise(jobs, before, kept, otherwise=TAKEN_OVER))
        return kept
