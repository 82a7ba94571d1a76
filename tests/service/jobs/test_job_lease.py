"""A worker renews its lease while it works, and notices when another worker has taken the lease."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.jobs.job_record import Job, JobKind, new_job
from keyfence.jobs.job_runner import JobResources, JobRun
from keyfence_iam.tenant import TenantId

TIMEOUT_SECONDS = 5
NOW = datetime(2026, 11, 16, tzinfo=UTC)


@dataclass
class SlowStore:
    """A store whose saves wait for an event, and may fail."""

    lease_duration: timedelta = timedelta(milliseconds=30)
    failure: KeyfenceError | None = None
    requested: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    saves: int = 0

    async def save(self, _: Job, after: Job, *writes: object) -> Job:
        self.requested.set()
        await self.answered.wait()
        if self.failure:
            raise self.failure
        self.saves += 1
        return after


def new_run(store: SlowStore) -> JobRun:
    resources = JobResources(store=cast("Any", store), scan=cast("Any", None))
    return JobRun(
        resources,
        new_job(JobKind.MOVE, TenantId("acme"), created_by="ann", created_at=NOW),
        asyncio.get_running_loop().time(),
    )


@pytest.mark.parametrize("failure", [None, Throttled("busy"), Conflict("another worker has taken over")])
async def test_the_end_of_the_work_ends_the_renewal_of_its_lease(failure: KeyfenceError | None) -> None:
    store = SlowStore(failure=failure)

    async def work() -> None:
        async with new_run(store).keep_lease():
            await store.requested.wait()

    ending = asyncio.ensure_future(work())
    await store.requested.wait()
    store.answered.set()
    await asyncio.wait_for(ending, TIMEOUT_SECONDS)
    saves = store.saves
    await asyncio.sleep(2 * store.lease_duration.total_seconds())
    assert store.saves == saves, "no renewal after the end of the work"


async def test_failed_work_raises_its_own_error_and_not_that_of_the_renewal() -> None:
    store = SlowStore(failure=Throttled("busy"))
    store.answered.set()

    async def work() -> None:
        async with new_run(store).keep_lease():
            await store.requested.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()


async def test_a_lease_that_another_worker_took_is_lost_immediately_but_not_after_a_failed_renewal() -> None:
    for failure, lost in ((Throttled("busy"), False), (Conflict("another worker has taken over"), True)):
        store = SlowStore(lease_duration=timedelta(seconds=0.3), failure=failure)
        store.answered.set()
        run = new_run(store)
        async with run.keep_lease():
            await store.requested.wait()
            await asyncio.sleep(0)
            if lost:
                with pytest.raises(Throttled, match="another worker may have taken over"):
                    run.lease.check()
            else:
                run.lease.check()


async def test_a_lease_that_is_not_renewed_is_lost_after_its_duration() -> None:
    run = new_run(SlowStore())
    run.lease.check()
    await asyncio.sleep(0.05)
    with pytest.raises(Throttled, match="another worker may have taken over"):
        run.lease.check()
