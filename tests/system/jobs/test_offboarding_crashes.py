"""After a crash at any place, the next worker completes an offboarding with the same result."""

import gzip
from contextlib import suppress
from math import ceil
from pathlib import Path

import pytest

from keyfence.errors import Conflict
from keyfence.jobs.job_runner import WAIT_STEP_SECONDS
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


async def expected(worker: Offboarder, job: OffboardingState) -> bytes:
    """Returns the export file of a run without a crash: one gzip member for every page that has items."""
    content, head, after = b"", job.chain_hash, None
    while True:
        page = await worker.migrator.scan.page(fence=Fence.for_tenant(job.tenant), after=after, limit=PAGE)
        head, lines = chain_lines(head, page.items)
        content += gzip.compress(lines, mtime=0) if lines else b""
        if (after := page.next_key) is None:
            return content


async def state(worker: Offboarder, tenant: TenantId) -> tuple[object, ...]:
    job, reached = await worker.job(tenant), await worker.state(tenant)
    found = await worker.tenants.get(tenant)
    happened = [one.kind async for one in worker.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)]
    counted = (reached.phase, reached.exported_count, reached.purged_count, reached.round)
    return found.status, found.name == tenant, *counted, job.worker, happened


async def ended(stack: ServiceStack, worker: Offboarder, tenant: TenantId, exports: Path, content: bytes) -> None:
    assert items_of(all_items(stack), tenant) == []
    assert await state(worker, tenant) == (
        TenantStatus.OFFBOARDED,
        True,
        OffboardingPhase.FINISHED,
        COUNT,
        COUNT,
        2,
        None,
        ["tenant.offboarded", "tenant.offboarding", "tenant.added"],
    )
    job = await worker.state(tenant)
    assert (exports / job.export_name).read_bytes() == content
    certificate = certificate_path(exports, job.export_name)
    assert certificate.read_text() == job.certificate
    compare_export(verify_certificate(certificate.read_bytes(), KEY.verifier), exports / job.export_name)


@pytest.mark.parametrize("part", tier.cases(range(PARTS), default=[0], reason="a crash at every call"))
async def test_an_offboarding_is_completed_after_a_crash_at_any_call_or_failpoint(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path, part: int
) -> None:
    neighbour = await stack.new_tenant(f"torn{part}")
    fill(stack, neighbour, COUNT)
    delete_items(stack, keep=neighbour)
    before = items_of(all_items(stack), neighbour)
    died: set[str] = set()
    for at in range(part, 1000, PARTS):
        tenant, time, exports = await stack.new_tenant(f"torn{part}-{at}"), ManualClock.at(START), tmp_path / str(at)
        fill(stack, tenant, COUNT)
        healthy = without_iam(offboarder(migrator, exports, time, page_size=PAGE))
        content = await expected(healthy, state_of((await begin(healthy, tenant)).job))
        process = CrashingProcess(migrator.tables.client, at)
        with suppress(Crash):
            torn = offboarder(with_client(migrator, process), exports, time, page_size=PAGE, failpoint=process.place)
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


async def lease_is_free(worker: Offboarder, tenant: TenantId) -> bool:
    job = await worker.find_job(tenant)
    return job is None or job.worker is None


@pytest.mark.full("a crash at every call")
async def test_the_start_of_an_offboarding_can_be_repeated_after_a_crash_at_any_call(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path
) -> None:
    for at in range(1000):
        tenant, time, exports = await stack.new_tenant(f"begun-{at}"), ManualClock.at(START), tmp_path / str(at)
        fill(stack, tenant, COUNT)
        healthy, process = offboarder(migrator, exports, time), CrashingProcess(migrator.tables.client, at)
        with suppress(Crash):
            await begin(offboarder(with_client(migrator, process), exports, time), tenant)
        job = (await begin(healthy, tenant)).job
        assert job.phase == OffboardingPhase.SUSPENDING
        await healthy.run(tenant)
        assert (await state(healthy, tenant))[-1] == ["tenant.offboarded", "tenant.offboarding", "tenant.added"]
        if not process.crashed:
            break
    assert at > 6


@pytest.mark.full("a crash at every call")
async def test_workers_that_crash_one_after_the_other_complete_an_offboarding(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path
) -> None:
    """Each worker makes just enough calls for the longest step of the job, the wait, and its checkpoint."""
    tenant, time = await stack.new_tenant(), ManualClock.at(START)
    fill(stack, tenant, COUNT)
    healthy = offboarder(migrator, tmp_path, time, page_size=PAGE)
    content = await expected(healthy, state_of((await begin(healthy, tenant)).job))
    wait_steps = ceil(migrator.settle_time.total_seconds() / WAIT_STEP_SECONDS)
    for _ in range(200):
        process = CrashingProcess(migrator.tables.client, 13 + 2 * wait_steps)
        with suppress(Crash):
            torn = offboarder(with_client(migrator, process), tmp_path, time, page_size=PAGE, failpoint=process.place)
            await torn.run(tenant)
        if not process.crashed:
            break
        await time.sleep(61)
    await ended(stack, healthy, tenant, tmp_path, content)
