"""A pass processes every item once, even if several workers run it one after the other."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

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
from tests.system.jobs.offboarding_run import OPERATOR, START, all_items, fill, items_of, put_items
from tests.system.jobs.rekey_run import job_resources, right_items

COUNT = 40


@pytest.fixture
def resources(migrator: MigratorAccess) -> JobResources:
    return job_resources(migrator, ManualClock.at(START), page_size=3)


class RecordingStep:
    """Processes pages by counting how often each item was given."""

    def __init__(self) -> None:
        self.keys: Counter[tuple[str, str]] = Counter()

    async def __call__(self, items: Sequence[Item]) -> PassResult:
        self.keys.update((item["PK"]["S"], item["SK"]["S"]) for item in items)
        return PassResult(
            changed=len(items), digest=sum(item_digest(item) for item in items), counts={"seen": len(items)}
        )


async def start_job(job_resources: JobResources, tenant: TenantId, segments: int = 4) -> Job:
    now = job_resources.store.now()
    return await job_resources.store.add(
        new_job(JobKind.MOVE, tenant, created_by=OPERATOR, created_at=now, segments=segments)
    )


def recording_pass(step: RecordingStep, tenant: TenantId) -> ScanPass:
    return ScanPass(name="LOOKING", process=step, fence=Fence.for_tenant(tenant))


async def test_a_pass_processes_every_item_of_the_tenant_once_and_no_item_of_a_neighbour(
    stack: ServiceStack, resources: JobResources, tenant: TenantId
) -> None:
    neighbour = await stack.new_tenant(f"{tenant}x")
    fill(stack, tenant, COUNT)
    fill(stack, neighbour, 5)
    (stray,) = right_items(neighbour, 1)
    put_items(stack, [{**stray, "GSI1PK": {"S": f"TENANT#{tenant}#EMAIL#a"}}])
    step = RecordingStep()

    async def program(run: JobRun) -> None:
        done = await run_pass(run, recording_pass(step, tenant))
        assert (done.changed, done.counts) == (COUNT, {"seen": COUNT})
        assert done.scanned >= COUNT + 5
        again = await run_pass(run, recording_pass(step, tenant))
        assert again == done, "a complete pass is not repeated"

    ended = await run_job(resources, (await start_job(resources, tenant)).id, program)
    assert step.keys == Counter((item["PK"]["S"], item["SK"]["S"]) for item in items_of(all_items(stack), tenant))
    assert (ended.phase, ended.items_changed, ended.items_total, ended.worker) == ("FINISHED", COUNT, COUNT, None)
    assert await resources.store.get(ended.id) == ended


async def test_a_pass_stops_between_pages_and_resumes_at_that_page(
    stack: ServiceStack, resources: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    step, runs = RecordingStep(), 0

    async def program(run: JobRun) -> None:
        await run_pass(run, recording_pass(step, tenant))

    job = await start_job(resources, tenant)
    while not (job := await _run_one_page(resources, job, program)).finished_at:
        runs += 1
        assert (job.phase, job.worker) == ("LOOKING", None)
    assert runs > 2
    assert (set(step.keys.values()), len(step.keys), job.items_changed) == ({1}, COUNT, COUNT)


async def _run_one_page(resources: JobResources, job: Job, program: object) -> Job:
    pages = iter([False])
    stopping = replace(resources, should_stop=lambda: next(pages, True))
    assert callable(program)
    return await run_job(stopping, job.id, program)


@pytest.mark.one_engine
async def test_a_cancelled_worker_saves_the_pages_that_it_is_processing(
    stack: ServiceStack, resources: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    step, reached = RecordingStep(), asyncio.Event()

    async def slow(items: Sequence[Item]) -> PassResult:
        reached.set()
        await asyncio.sleep(0.05)
        return await step(items)

    async def program(run: JobRun) -> None:
        await run_pass(run, replace(recording_pass(step, tenant), process=slow))

    job = await start_job(resources, tenant)
    work = asyncio.ensure_future(run_job(resources, job.id, program))
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    kept = await resources.store.get(job.id)
    assert kept.items_changed == sum(step.keys.values()) > 0
    assert kept.worker is None
    await run_job(resources, job.id, program)
    assert (set(step.keys.values()), len(step.keys)) == ({1}, COUNT)


@pytest.mark.one_engine
async def test_a_failed_segment_does_not_lose_the_progress_of_the_others(
    stack: ServiceStack, resources: JobResources, tenant: TenantId
) -> None:
    fill(stack, tenant, COUNT)
    step, bad = RecordingStep(), {items_of(all_items(stack), tenant)[7]["PK"]["S"]}

    async def fail_on_bad_item(items: Sequence[Item]) -> PassResult:
        if any(item["PK"]["S"] in bad for item in items):
            raise Throttled("too busy")
        return await step(items)

    async def program(run: JobRun) -> None:
        await run_pass(run, replace(recording_pass(step, tenant), process=fail_on_bad_item))

    job = await start_job(resources, tenant)
    with pytest.raises(Throttled):
        await run_job(resources, job.id, program)
    assert (await resources.store.get(job.id)).items_changed == sum(step.keys.values())
    bad.clear()
    await run_job(resources, job.id, program)
    assert (set(step.keys.values()), len(step.keys)) == ({1}, COUNT)


@pytest.mark.one_engine
async def test_rounds_are_repeated_until_nothing_is_wrong_or_five_rounds_bring_no_progress(
    stack: ServiceStack, resources: JobResources, tenant: TenantId
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

    assert (await run_job(resources, (await start_job(resources, tenant)).id, program)).round == 3
    assert happened == ["changed", "verified"] * 3
    endless = await start_job(resources, tenant)
    with pytest.raises(Conflict, match="after 5 rounds 7 items are still wrong"):
        await run_job(resources, endless.id, program)
    assert (await resources.store.get(endless.id)).round == 6
    assert (await run_job(resources, endless.id, program)).finished_at, "who runs it again has five rounds more"


@pytest.mark.one_engine
async def test_all_segments_share_one_rate_limit(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
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

    resources = job_resources(migrator, ManualClock.at(START), units_per_second=8.0)
    ended = await run_job(resources, (await start_job(resources, tenant, 4)).id, program)
    assert ended.items_changed == COUNT
    assert waited.count(100.0) >= COUNT / 2, "a second's worth of 8 units is 2 items of each of 4 segments"


@pytest.mark.one_engine
@pytest.mark.parametrize(("single_segment", "page_size"), [(False, 2), (True, 8)])
async def test_the_segments_of_a_pass_together_scan_a_seconds_worth_of_units_in_a_page(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId, single_segment: bool, page_size: int
) -> None:
    fill(stack, tenant, COUNT)
    pages: list[int] = []

    async def step(items: Sequence[Item]) -> PassResult:
        pages.append(len(items))
        return PassResult()

    async def program(run: JobRun) -> None:
        run.pacer = Pacer()
        await run_pass(run, ScanPass(name="LOOKING", process=step, single_segment=single_segment))

    resources = job_resources(migrator, ManualClock.at(START), units_per_second=8.0)
    await run_job(resources, (await start_job(resources, tenant, 4)).id, program)
    assert max(pages) == page_size


@pytest.mark.one_engine
async def test_many_items_are_processed_once_in_seven_segments(
    stack: ServiceStack, resources: JobResources, tenant: TenantId
) -> None:
    items = tier.size(default=300, full=2_000)
    fill(stack, tenant, items, indexed=0)
    step, alone = RecordingStep(), RecordingStep()
    digests = []

    async def program(run: JobRun) -> None:
        digests.append((await run_pass(run, recording_pass(step if run.job.segments > 1 else alone, tenant))).digest)

    for segments in (7, 1):
        await run_job(replace(resources, page_size=50), (await start_job(resources, tenant, segments)).id, program)
    assert set(step.keys.values()) == {1}
    assert len(step.keys) == items
    assert step.keys == alone.keys
    assert digests[0] == digests[1], "in whatever order"
