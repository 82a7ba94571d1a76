"""A worker keeps its lease during long steps, and changes nothing after it has lost the lease."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest

from keyfence.domains.users.access_patterns import user_by_id
from keyfence.domains.users.model import UserId
from keyfence.errors import Conflict, Throttled
from keyfence.jobs.job_runner import JobResources, JobRun, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import run_pass
from keyfence.store.codec import Item
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import START, fill
from tests.system.jobs.rekey_run import job_resources
from tests.system.jobs.test_job_runner import RecordingStep, recording_pass, start_job

COUNT = 40
LEASE = timedelta(seconds=0.6)


@pytest.fixture
def resources(migrator: MigratorAccess) -> JobResources:
    return job_resources(migrator, ManualClock.at(START), page_size=3)


@pytest.mark.one_engine
async def test_a_worker_whose_lease_was_taken_cannot_save(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    time, step = ManualClock.at(START), RecordingStep()
    first, second = job_resources(migrator, time, page_size=3), job_resources(migrator, time, page_size=3)
    job = await start_job(first, tenant, segments=1)

    async def program(run: JobRun) -> None:
        await run_pass(run, recording_pass(step, tenant))

    async def meanwhile(items: Sequence[Item]) -> PassResult:
        if not step.keys:
            with pytest.raises(Conflict, match="another worker"):
                await run_job(second, job.id, program)
            await time.sleep(61)
            await run_job(second, job.id, program)
        return PassResult(changed=1_000)

    async def slow(run: JobRun) -> None:
        await run_pass(run, replace(recording_pass(step, tenant), process=meanwhile))

    with pytest.raises(Conflict, match="taken over"):
        await run_job(first, job.id, slow)
    ended = await first.store.get(job.id)
    assert (ended.phase, ended.items_changed, set(step.keys.values())) == ("FINISHED", COUNT, {1})


@pytest.mark.one_engine
async def test_the_lease_is_kept_during_a_wait(
    resources: JobResources, migrator: MigratorAccess, tenant: TenantId
) -> None:
    time = ManualClock.at(START)
    waiting, other = job_resources(migrator, time), job_resources(migrator, time)
    job = await start_job(waiting, tenant)

    async def nothing(_: JobRun) -> None: ...

    async def program(run: JobRun) -> None:
        await run.wait(timedelta(seconds=120))
        with pytest.raises(Conflict, match="another worker"):
            await run_job(other, job.id, nothing)

    ended = await run_job(waiting, job.id, program)
    assert sum(time.slept) == 120
    assert ended.finished_at == time.datetime()


@pytest.mark.one_engine
async def test_the_lease_is_kept_during_a_page_that_takes_longer_than_the_lease(
    migrator: MigratorAccess, tenant: TenantId
) -> None:
    waiting, other = _with_short_lease(migrator), _with_short_lease(migrator)
    job = await start_job(waiting, tenant)

    async def nothing(_: JobRun) -> None: ...

    async def program(run: JobRun) -> None:
        handle = run.lease.guard(migrator.table_in_pool(tenant))
        await asyncio.sleep(3 * LEASE.total_seconds())
        with pytest.raises(Conflict, match="another worker"):
            await run_job(other, job.id, nothing)
        await handle.find(user_by_id, id=UserId("usr_1"))

    assert (await run_job(waiting, job.id, program)).finished_at


@pytest.mark.one_engine
async def test_a_worker_that_cannot_renew_its_lease_makes_no_more_calls(
    migrator: MigratorAccess, tenant: TenantId
) -> None:
    resources, other = _with_short_lease(migrator), _with_short_lease(migrator)
    job, came = await start_job(resources, tenant), list[str]()

    async def nothing(_: JobRun) -> None: ...

    async def program(run: JobRun) -> None:
        handle = run.lease.guard(migrator.table_in_pool(tenant))
        await handle.find(user_by_id, id=UserId("usr_1"))
        resources.store.table.caller.location.valid_until = -inf
        await asyncio.sleep(LEASE.total_seconds() * 1.5)
        came.append((await run_job(other, job.id, nothing)).phase)
        await handle.find(user_by_id, id=UserId("usr_1"))

    with pytest.raises(Throttled, match="another worker may have taken over"):
        await run_job(resources, job.id, program)
    assert came == ["FINISHED"]


def _with_short_lease(migrator: MigratorAccess) -> JobResources:
    made = migrator.job_resources(units_per_second=1e6)
    return replace(made, store=replace(made.store, lease_duration=LEASE))
