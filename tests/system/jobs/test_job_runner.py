"""A pass gives every item to its step once, whoever begins it and whoever ends it."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf

import pytest

from keyfence.domains.users.access_patterns import user_by_id
from keyfence.domains.users.model import UserId
from keyfence.errors import Conflict, Throttled
from keyfence.jobs.job_record import Job, JobKind, new_job
from keyfence.jobs.job_runner import JobResources, JobRun, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import ScanPass, item_digest, repeat_until_clean, run_pass
from keyfence.store.codec import Item
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.keys import Fence
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import OPERATOR, START, all_items, fill, items_of, migrator, put_items
from tests.system.jobs.rekey_run import means, right_items

COUNT = 40
LEASE = timedelta(seconds=0.6)


@pytest.fixture
def by(stack: ServiceStack) -> Iterator[MigratorAccess]:
    with migrator(stack) as made:
        yield made


@pytest.fixture
def given(by: MigratorAccess) -> JobResources:
    return means(by, ManualClock.at(START), page_size=3)


class Seen:
    """A step that changes nothing and remembers what it was given."""

    def __init__(self) -> None:
        self.keys: Counter[tuple[str, str]] = Counter()

    async def __call__(self, items: Sequence[Item]) -> PassResult:
        self.keys.update((item["PK"]["S"], item["SK"]["S"]) for item in items)
        return PassResult(
            changed=len(items), digest=sum(item_digest(item) for item in items), counts={"seen": len(items)}
        )


async def begun(means: JobResources, tenant: TenantId, segments: int = 4) -> Job:
    now = means.store.now()
    return await means.store.add(new_job(JobKind.MOVE, tenant, created_by=OPERATOR, created_at=now, segments=segments))


def once_over(step: Seen, tenant: TenantId) -> ScanPass:
    return ScanPass(name="LOOKING", process=step, fence=Fence.for_tenant(tenant))


async def test_a_pass_processes_every_item_of_the_tenant_once_and_no_item_of_a_neighbour(
    stack: ServiceStack, given: JobResources, tenant: TenantId
) -> None:
    neighbour = await stack.new_tenant(f"{tenant}x")
    fill(stack, tenant, COUNT)
    fill(stack, neighbour, 5)
    (stray,) = right_items(neighbour, 1)
    put_items(stack, [{**stray, "GSI1PK": {"S": f"TENANT#{tenant}#EMAIL#a"}}])
    seen = Seen()

    async def program(run: JobRun) -> None:
        done = await run_pass(run, once_over(seen, tenant))
        assert (done.changed, done.counts) == (COUNT, {"seen": COUNT})
        assert done.scanned >= COUNT + 5
        again = await run_pass(run, once_over(seen, tenant))
        assert again == done, "what was done is known, and not done again"

    ended = await run_job(given, (await begun(given, tenant)).id, program)
    assert seen.keys == Counter((item["PK"]["S"], item["SK"]["S"]) for item in items_of(all_items(stack), tenant))
    assert (ended.phase, ended.items_changed, ended.items_total, ended.worker) == ("FINISHED", COUNT, COUNT, None)
    assert await given.store.get(ended.id) == ended


async def test_a_pass_stops_between_pages_and_resumes_at_that_page(
    stack: ServiceStack, given: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    seen, runs = Seen(), 0

    async def program(run: JobRun) -> None:
        await run_pass(run, once_over(seen, tenant))

    migration = await begun(given, tenant)
    while not (migration := await _one_page(given, migration, program)).finished_at:
        runs += 1
        assert (migration.phase, migration.worker) == ("LOOKING", None)
    assert runs > 2
    assert (set(seen.keys.values()), len(seen.keys), migration.items_changed) == ({1}, COUNT, COUNT)


async def _one_page(given: JobResources, migration: Job, program: object) -> Job:
    pages = iter([False])
    stopping = replace(given, should_stop=lambda: next(pages, True))
    assert callable(program)
    return await run_job(stopping, migration.id, program)


@pytest.mark.one_engine
async def test_a_cancelled_worker_saves_the_pages_that_it_is_processing(
    stack: ServiceStack, given: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    seen, reached = Seen(), asyncio.Event()

    async def slow(items: Sequence[Item]) -> PassResult:
        reached.set()
        await asyncio.sleep(0.05)
        return await seen(items)

    async def program(run: JobRun) -> None:
        await run_pass(run, replace(once_over(seen, tenant), process=slow))

    migration = await begun(given, tenant)
    work = asyncio.ensure_future(run_job(given, migration.id, program))
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    kept = await given.store.get(migration.id)
    assert kept.items_changed == sum(seen.keys.values()) > 0
    assert kept.worker is None
    await run_job(given, migration.id, program)
    assert (set(seen.keys.values()), len(seen.keys)) == ({1}, COUNT)


@pytest.mark.one_engine
async def test_a_failed_segment_does_not_lose_the_progress_of_the_others(
    stack: ServiceStack, given: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    seen, bad = Seen(), {items_of(all_items(stack), tenant)[7]["PK"]["S"]}

    async def step(items: Sequence[Item]) -> PassResult:
        if any(item["PK"]["S"] in bad for item in items):
            raise Throttled("too busy")
        return await seen(items)

    async def program(run: JobRun) -> None:
        await run_pass(run, replace(once_over(seen, tenant), process=step))

    migration = await begun(given, tenant)
    with pytest.raises(Throttled):
        await run_job(given, migration.id, program)
    assert (await given.store.get(migration.id)).items_changed == sum(seen.keys.values())
    bad.clear()
    await run_job(given, migration.id, program)
    assert (set(seen.keys.values()), len(seen.keys)) == ({1}, COUNT)


@pytest.mark.one_engine
async def test_a_worker_whose_lease_was_taken_cannot_save(
    stack: ServiceStack, by: MigratorAccess, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    time, seen = ManualClock.at(START), Seen()
    first, second = means(by, time, page_size=3), means(by, time, page_size=3)
    migration = await begun(first, tenant, segments=1)

    async def program(run: JobRun) -> None:
        await run_pass(run, once_over(seen, tenant))

    async def meanwhile(items: Sequence[Item]) -> PassResult:
        if not seen.keys:
            with pytest.raises(Conflict, match="another worker"):
                await run_job(second, migration.id, program)
            await time.sleep(61)
            await run_job(second, migration.id, program)
        return PassResult(changed=1_000)

    async def slow(run: JobRun) -> None:
        await run_pass(run, replace(once_over(seen, tenant), process=meanwhile))

    with pytest.raises(Conflict, match="taken over"):
        await run_job(first, migration.id, slow)
    ended = await first.store.get(migration.id)
    assert (ended.phase, ended.items_changed, set(seen.keys.values())) == ("FINISHED", COUNT, {1})


@pytest.mark.one_engine
async def test_rounds_are_repeated_until_nothing_is_wrong_or_five_rounds_bring_no_progress(
    stack: ServiceStack, given: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, 1)
    wrong = iter([3, 2, 0, 1, 1, 1, 1, 7, 0])
    happened: list[str] = []

    async def change(_: Sequence[Item]) -> PassResult:
        happened.append("changed")
        return PassResult()

    async def verify(_: Sequence[Item]) -> PassResult:
        happened.append("verified")
        return PassResult(wrong=next(wrong))

    async def program(run: JobRun) -> None:
        inside = Fence.for_tenant(tenant)
        made = ScanPass(name="DOING", process=change, fence=inside)
        await repeat_until_clean(run, made, ScanPass(name="VERIFYING", process=verify, fence=inside))

    assert (await run_job(given, (await begun(given, tenant)).id, program)).round == 3
    assert happened == ["changed", "verified"] * 3
    endless = await begun(given, tenant)
    with pytest.raises(Conflict, match="after 5 rounds 7 items are still wrong"):
        await run_job(given, endless.id, program)
    assert (await given.store.get(endless.id)).round == 6
    assert (await run_job(given, endless.id, program)).finished_at, "who runs it again has five rounds more"


@pytest.mark.one_engine
async def test_all_segments_share_one_rate_limit(stack: ServiceStack, by: MigratorAccess, tenant: TenantId) -> None:
    fill(stack, tenant, COUNT)
    waited: list[float] = []

    async def step(items: Sequence[Item]) -> PassResult:
        return PassResult(changed=len(items), units=100.0)

    class Line(Pacer):
        async def wait(self, items: float) -> None:
            waited.append(items)

    async def program(run: JobRun) -> None:
        run.pacer = Line(run.pacer.per_second)
        await run_pass(run, ScanPass(name="SPENDING", process=step, fence=Fence.for_tenant(tenant)))

    given = means(by, ManualClock.at(START), units_per_second=8.0)
    ended = await run_job(given, (await begun(given, tenant, 4)).id, program)
    assert ended.items_changed == COUNT
    assert waited.count(100.0) >= COUNT / 2, "a second's worth of 8 units is 2 items of each of 4 segments"


@pytest.mark.one_engine
async def test_the_lease_is_kept_during_a_wait(given: JobResources, by: MigratorAccess, tenant: TenantId) -> None:
    time = ManualClock.at(START)
    waiting, other = means(by, time), means(by, time)
    migration = await begun(waiting, tenant)

    async def nothing(_: JobRun) -> None: ...

    async def program(run: JobRun) -> None:
        await run.wait(timedelta(seconds=120))
        with pytest.raises(Conflict, match="another worker"):
            await run_job(other, migration.id, nothing)

    ended = await run_job(waiting, migration.id, program)
    assert sum(time.slept) == 120
    assert ended.finished_at == time.datetime()


@pytest.mark.one_engine
async def test_the_lease_is_kept_during_a_page_that_takes_longer_than_the_lease(
    by: MigratorAccess, tenant: TenantId
) -> None:
    waiting, other = _hasty(by), _hasty(by)
    migration = await begun(waiting, tenant)

    async def nothing(_: JobRun) -> None: ...

    async def program(run: JobRun) -> None:
        handle = run.lease.guard(by.table_in_pool(tenant))
        await asyncio.sleep(3 * LEASE.total_seconds())
        with pytest.raises(Conflict, match="another worker"):
            await run_job(other, migration.id, nothing)
        await handle.find(user_by_id, id=UserId("usr_1"))

    assert (await run_job(waiting, migration.id, program)).finished_at


@pytest.mark.one_engine
async def test_a_worker_that_cannot_renew_its_lease_makes_no_more_calls(by: MigratorAccess, tenant: TenantId) -> None:
    given, other = _hasty(by), _hasty(by)
    migration, came = await begun(given, tenant), list[str]()

    async def nothing(_: JobRun) -> None: ...

    async def program(run: JobRun) -> None:
        handle = run.lease.guard(by.table_in_pool(tenant))
        await handle.find(user_by_id, id=UserId("usr_1"))
        given.store.table.caller.location.valid_until = -inf
        await asyncio.sleep(LEASE.total_seconds() * 1.5)
        came.append((await run_job(other, migration.id, nothing)).phase)
        await handle.find(user_by_id, id=UserId("usr_1"))

    with pytest.raises(Throttled, match="another worker may have taken over"):
        await run_job(given, migration.id, program)
    assert came == ["FINISHED"]


def _hasty(by: MigratorAccess) -> JobResources:
    made = by.job_resources(units_per_second=1e6)
    return replace(made, store=replace(made.store, lease_duration=LEASE))


@pytest.mark.one_engine
async def test_many_items_are_processed_once_in_seven_segments(
    stack: ServiceStack, given: JobResources, tenant: TenantId
) -> None:
    items = tier.size(default=300, full=2_000)
    fill(stack, tenant, items, indexed=0)
    seen, alone = Seen(), Seen()
    digests = []

    async def program(run: JobRun) -> None:
        digests.append((await run_pass(run, once_over(seen if run.job.segments > 1 else alone, tenant))).digest)

    for segments in (7, 1):
        await run_job(replace(given, page_size=50), (await begun(given, tenant, segments)).id, program)
    assert set(seen.keys.values()) == {1}
    assert len(seen.keys) == items
    assert seen.keys == alone.keys
    assert digests[0] == digests[1], "in whatever order"
