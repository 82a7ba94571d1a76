"""A worker keeps its lease while it works, ends when its work ends, and knows when another has taken over."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from keyfence.errors import Conflict, KeyfenceError, Throttled
from keyfence.jobs.job_record import Job, JobKind, new_job
from keyfence.jobs.job_runner import JobResources, JobRun
from keyfence_iam.tenant import TenantId

PATIENTLY = 5
NOW = datetime(2026, 11, 16, tzinfo=UTC)


@dataclass
class Shelf:
    """Records that take their time, and may fail."""

    lease_duration: timedelta = timedelta(milliseconds=30)
    failure: KeyfenceError | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    kept: int = 0

    async def save(self, _: Job, after: Job, *writes: object) -> Job:
        self.asked.set()
        await self.answered.wait()
        if self.failure:
            raise self.failure
        self.kept += 1
        return after


def running(shelf: Shelf) -> JobRun:
    means = JobResources(store=cast("Any", shelf), scan=cast("Any", None))
    return JobRun(
        means,
        new_job(JobKind.MOVE, TenantId("acme"), created_by="ann", created_at=NOW),
        asyncio.get_running_loop().time(),
    )


@pytest.mark.parametrize("failure", [None, Throttled("busy"), Conflict("another worker has taken over")])
async def test_the_end_of_the_work_ends_the_renewal_of_its_lease(failure: KeyfenceError | None) -> None:
    shelf = Shelf(failure=failure)

    async def work() -> None:
        async with running(shelf).keep_lease():
            await shelf.asked.wait()

    ending = asyncio.ensure_future(work())
    await shelf.asked.wait()
    shelf.answered.set()
    await asyncio.wait_for(ending, PATIENTLY)
    kept = shelf.kept
    await asyncio.sleep(2 * shelf.lease_duration.total_seconds())
    assert shelf.kept == kept, "nobody keeps what has ended"


async def test_failed_work_raises_its_own_error_and_not_that_of_the_renewal() -> None:
    shelf = Shelf(failure=Throttled("busy"))
    shelf.answered.set()

    async def work() -> None:
        async with running(shelf).keep_lease():
            await shelf.asked.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()


async def test_a_lease_that_another_worker_took_is_lost_immediately_but_not_after_a_failed_renewal() -> None:
    for failure, lost in ((Throttled("busy"), False), (Conflict("another worker has taken over"), True)):
        shelf = Shelf(lease_duration=timedelta(seconds=0.3), failure=failure)
        shelf.answered.set()
        run = running(shelf)
        async with run.keep_lease():
            await shelf.asked.wait()
            await asyncio.sleep(0)
            if lost:
                with pytest.raises(Throttled, match="another worker may have taken over"):
                    run.lease.check()
            else:
                run.lease.check()


async def test_a_lease_that_is_not_renewed_is_lost_after_its_duration() -> None:
    run = running(Shelf())
    run.lease.check()
    await asyncio.sleep(0.05)
    with pytest.raises(Throttled, match="another worker may have taken over"):
        run.lease.check()
