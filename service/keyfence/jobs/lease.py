"""`JobStore`: take, renew, release a lease; worker ids."""

import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from ulid import ULID

from keyfence.errors import Conflict, KeyfenceError, NotFound
from keyfence.jobs.job import (
    PREFIX,
    Job,
    JobId,
    ScanCheckpoint,
    migration_by_id,
    migrations,
    segment_by_number,
    segments,
)
from keyfence.jobs.offboard.start import OffboardingPhase, OffboardingState, job_id, jobs, offboarding_by_id
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.ids import checked_id
from keyfence.store.table import Table
from keyfence.store.writes import Write, put, update_model
from keyfence_iam.tenant import TenantId


def worker_id() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{ULID()}"


def is_dead_local_worker(worker: str) -> bool:
    """Whether it was a process of this machine that is no more: nobody needs to wait for its lease."""
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


LEASE = timedelta(seconds=60)

MISSING = partial(NotFound, "no such migration")
TAKEN_OVER = partial(Conflict, "another worker has taken over")


def parse_job_id(text: str) -> JobId:
    return JobId(checked_id(PREFIX, text))


@dataclass(frozen=True, slots=True)
class JobStore:
    """A lease is renewed whenever a record is kept, and what its worker does after it was lost is not."""

    table: Table
    worker: str = field(default_factory=worker_id)
    now: Callable[[], datetime] = timestamps.utc_now
    lease: timedelta = LEASE

    async def add(self, migration: Job) -> Job:
        """Nobody is at it yet."""
        await self.table.write(put(migrations, migration, when=absent()))
        return migration

    async def find(self, id: JobId) -> Job | None:
        return await self.table.find(migration_by_id, id=id)

    async def get(self, id: JobId) -> Job:
        if (found := await self.find(id)) is None:
            raise MISSING()
        return found

    async def segments(self, migration: Job, name: str, of: int) -> list[ScanCheckpoint]:
        """Of a pass, as far as they have come."""
        fresh = [self._fresh(migration, name, number, of) for number in range(of)]
        wanted = [{"migration": one.migration, "name": one.name, "number": one.number} for one in fresh]
        found = await self.table.find_many(segment_by_number, wanted)
        return [kept or one for kept, one in zip(found, fresh, strict=True)]

    def _fresh(self, migration: Job, name: str, number: int, of: int) -> ScanCheckpoint:
        now = self.now()
        return ScanCheckpoint(migration=migration.id, name=name, number=number, of=of, created_at=now, updated_at=now)

    @asynccontextmanager
    async def held(self, migration: Job) -> AsyncIterator[Job]:
        taken = await self._take(migration)
        try:
            yield taken
        finally:
            await self._released(taken)

    async def _take(self, found: Job) -> Job:
        if found.leased_until and found.leased_until > self.now() and not is_dead_local_worker(found.worker or ""):
            until = found.leased_until.isoformat(timespec="seconds")
            raise Conflict(f"another worker, {found.worker}, is at it until {until} at least", until=until)
        return await self.keep(found, replace(found, worker=self.worker))

    async def _released(self, taken: Job) -> None:
        """Whoever comes next need not wait; where that fails, the lease ends by itself."""
        with suppress(KeyfenceError):
            last = await self.find(taken.id)
            if last and last.worker == self.worker:
                await self._write(last, replace(last, worker=None), None)

    async def keep(self, before: Job, after: Job, moved: Sequence[tuple[ScanCheckpoint, ScanCheckpoint]] = ()) -> Job:
        """With the segments that moved, all or nothing."""
        if after.finished_at:
            return await self._write(before, replace(after, worker=None), None, moved)
        return await self._write(before, after, self.now() + self.lease, moved)

    async def _write(
        self,
        before: Job,
        after: Job,
        until: datetime | None,
        moved: Sequence[tuple[ScanCheckpoint, ScanCheckpoint]] = (),
    ) -> Job:
        kept = replace(after, leased_until=until, updated_at=self.now(), version=before.version + 1)
        writes = [_moved(old, new) for old, new in moved]
        await self.table.write(update_model(migrations, before, kept, on_failure=TAKEN_OVER), *writes)
        return kept


def _moved(before: ScanCheckpoint, after: ScanCheckpoint) -> Write[ScanCheckpoint]:
    if before.version == 0:
        return put(segments, after, when=absent(), on_failure=TAKEN_OVER)
    return update_model(segments, before, after, on_failure=TAKEN_OVER)


@dataclass(frozen=True, slots=True)
class Jobs:
    """A lease is renewed whenever the job is kept, and what its worker does after it was lost is not."""

    table: Table
    worker: str = field(default_factory=worker_id)
    now: Callable[[], datetime] = timestamps.utc_now
    lease: timedelta = LEASE

    async def find(self, tenant: TenantId) -> OffboardingState | None:
        return await self.table.find(offboarding_by_id, id=job_id(tenant))

    async def take(self, job: OffboardingState) -> OffboardingState:
        if job.leased_until and job.leased_until > self.now() and not is_dead_local_worker(job.worker or ""):
            until = job.leased_until.isoformat(timespec="seconds")
            raise Conflict(f"another worker, {job.worker}, is at it until {until} at least", until=until)
        return await self.keep(job, replace(job, worker=self.worker))

    async def keep(self, before: OffboardingState, after: OffboardingState) -> OffboardingState:
        if after.phase is OffboardingPhase.FINISHED:
            return await self._revise(before, replace(after, worker=None), None)
        return await self._revise(before, after, self.now() + self.lease)

    async def release(self, job: OffboardingState) -> OffboardingState:
        return await self._revise(job, replace(job, worker=None), None)

    async def _revise(
        self, before: OffboardingState, after: OffboardingState, until: datetime | None
    ) -> OffboardingState:
        kept = replace(after, leased_until=until, updated_at=self.now(), version=before.version + 1)
        await self.table.write(update_model(jobs, before, kept, on_failure=TAKEN_OVER))
        return kept
