"""An offboarding that dies anywhere is carried through by the next worker, as if nobody had died."""

import gzip
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from keyfence.errors import Conflict
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import certificate_path, compare_export, verify_certificate
from keyfence.jobs.offboard.export_file import chain_lines
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState, state_of
from keyfence.store.keys import Fence
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    START,
    CrashingProcess,
    Offboarder,
    all_items,
    begin,
    delete_items,
    fill,
    items_of,
    migrator,
    offboarder,
    with_client,
    without_iam,
)

pytestmark = pytest.mark.one_engine

COUNT, PAGE, PARTS = 7, 12, 4
PHASES = [
    phase for phase in OffboardingPhase if phase not in {OffboardingPhase.DROPPING_TABLE, OffboardingPhase.FINISHED}
]
CALLS = ("Scan", "BatchWriteItem", "TransactWriteItems", "GetItem", "Query")


@pytest.fixture(scope="module")
def by(stack: ServiceStack) -> Iterator[MigratorAccess]:
    with migrator(stack) as made:
        yield made


async def expected(given: Offboarder, job: OffboardingState) -> bytes:
    """The file as it is when nobody dies: a member for every page that has anything."""
    content, head, after = b"", job.chain_hash, None
    while True:
        page = await given.by.scan.page(fence=Fence.for_tenant(job.tenant), after=after, limit=PAGE)
        head, lines = chain_lines(head, page.items)
        content += gzip.compress(lines, mtime=0) if lines else b""
        if (after := page.next_key) is None:
            return content


async def state(given: Offboarder, tenant: TenantId) -> tuple[object, ...]:
    job, reached = await given.job(tenant), await given.state(tenant)
    found = await given.tenants.get(tenant)
    happened = [one.kind async for one in given.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)]
    counted = (reached.phase, reached.exported, reached.purged, reached.round)
    return found.status, found.name == tenant, *counted, job.worker, happened


async def ended(stack: ServiceStack, given: Offboarder, tenant: TenantId, exports: Path, content: bytes) -> None:
    assert items_of(all_items(stack), tenant) == []
    assert await state(given, tenant) == (
        TenantStatus.OFFBOARDED,
        True,
        OffboardingPhase.FINISHED,
        COUNT,
        COUNT,
        2,
        None,
        ["tenant.offboarded", "tenant.offboarding", "tenant.added"],
    )
    job = await given.state(tenant)
    assert (exports / job.export).read_bytes() == content
    certificate = certificate_path(exports, job.export)
    assert certificate.read_text() == job.certificate
    compare_export(verify_certificate(certificate.read_bytes(), KEY.verifier), exports / job.export)


@pytest.mark.parametrize("part", tier.cases(range(PARTS), default=[0], reason="a crash at every call"))
async def test_an_offboarding_is_completed_after_a_crash_at_any_call_or_failpoint(
    stack: ServiceStack, by: MigratorAccess, tmp_path: Path, part: int
) -> None:
    neighbour = await stack.new_tenant(f"torn{part}")
    fill(stack, neighbour, COUNT)
    delete_items(stack, keep=neighbour)
    before = items_of(all_items(stack), neighbour)
    died: set[str] = set()
    for at in range(part, 1000, PARTS):
        tenant, time, exports = await stack.new_tenant(f"torn{part}-{at}"), ManualClock.at(START), tmp_path / str(at)
        fill(stack, tenant, COUNT)
        healthy = without_iam(offboarder(by, exports, time, page_size=PAGE))
        content = await expected(healthy, state_of((await begin(healthy, tenant)).job))
        process = CrashingProcess(by.tables.client, at)
        with suppress(Crash):
            torn = offboarder(with_client(by, process), exports, time, page_size=PAGE, failpoint=process.place)
            await without_iam(torn).run(tenant)
        if process.crashed:
            died.add(process.places[-1])
            if not (await lease_is_free(healthy, tenant)):
                with pytest.raises(Conflict, match="another worker"):
                    await healthy.run(tenant)
                await time.sleep(61)
            await healthy.run(tenant)
        await ended(stack, healthy, tenant, exports, content)
        delete_items(stack, keep=neighbour)
        if not process.crashed:
            assert set(process.places) >= {f"{when} {phase}" for when in ("before", "after") for phase in PHASES}
            saved = {f"saved {phase}" for phase in PHASES if phase is not OffboardingPhase.FINISHING}
            assert set(process.places) >= saved
            assert set(process.places) >= {f"{when} {what}" for when in ("asking", "answered") for what in CALLS}
            break
    assert len(died) > 10
    assert items_of(all_items(stack), neighbour) == before


async def lease_is_free(given: Offboarder, tenant: TenantId) -> bool:
    job = await given.find_job(tenant)
    return job is None or job.worker is None


@pytest.mark.full("a crash at every call")
async def test_the_start_of_an_offboarding_can_be_repeated_after_a_crash_at_any_call(
    stack: ServiceStack, by: MigratorAccess, tmp_path: Path
) -> None:
    for at in range(1000):
        tenant, time, exports = await stack.new_tenant(f"begun-{at}"), ManualClock.at(START), tmp_path / str(at)
        fill(stack, tenant, COUNT)
        healthy, process = offboarder(by, exports, time), CrashingProcess(by.tables.client, at)
        with suppress(Crash):
            await begin(offboarder(with_client(by, process), exports, time), tenant)
        job = (await begin(healthy, tenant)).job
        assert job.phase == OffboardingPhase.SUSPENDING
        await healthy.run(tenant)
        assert (await state(healthy, tenant))[-1] == ["tenant.offboarded", "tenant.offboarding", "tenant.added"]
        if not process.crashed:
            break
    assert at > 6


@pytest.mark.full("a crash at every call")
async def test_workers_that_crash_one_after_the_other_complete_an_offboarding(
    stack: ServiceStack, by: MigratorAccess, tmp_path: Path
) -> None:
    """Each lives for ten calls, which is enough for one step of the job and its checkpoint."""
    tenant, time = await stack.new_tenant(), ManualClock.at(START)
    fill(stack, tenant, COUNT)
    healthy = offboarder(by, tmp_path, time, page_size=PAGE)
    content = await expected(healthy, state_of((await begin(healthy, tenant)).job))
    for _ in range(200):
        process = CrashingProcess(by.tables.client, 21)
        with suppress(Crash):
            torn = offboarder(with_client(by, process), tmp_path, time, page_size=PAGE, failpoint=process.place)
            await torn.run(tenant)
        if not process.crashed:
            break
        await time.sleep(61)
    await ended(stack, healthy, tenant, tmp_path, content)
