"""A worker of an offboarding keeps its lease however long a step takes, and has no effect after it lost the lease."""

import asyncio
import time as clock
from dataclasses import replace
from datetime import timedelta
from math import inf
from pathlib import Path

import pytest

from keyfence.errors import Conflict, Throttled
from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard import export_pass
from keyfence.jobs.offboard.export_file import ExportDigest, ExportFile
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import (
    START,
    Offboarder,
    all_items,
    begin,
    fill,
    items_of,
    offboarder,
)
from tests.system.jobs.test_offboarding_silos import items_in_silo, tenant_in_silo

pytestmark = pytest.mark.one_engine

COUNT = 5
LEASE = timedelta(seconds=0.6)


@pytest.fixture
def worker(migrator: MigratorAccess, tmp_path: Path) -> Offboarder:
    return offboarder(migrator, tmp_path, ManualClock.at(START))


def with_short_lease(migrator: MigratorAccess) -> JobRepository:
    """Returns a store on the real clock with short leases."""
    return JobRepository(migrator.control, lease_duration=LEASE)


def certificates(exports: Path) -> list[Path]:
    return list(exports.glob("*.certificate.json"))


async def test_the_lease_is_kept_during_a_verification_that_takes_longer_than_the_lease(
    stack: ServiceStack, migrator: MigratorAccess, worker: Offboarder, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stack, tenant, COUNT)
    await begin(worker, tenant)
    verify, refused = export_pass.verify_export, list[Conflict]()

    def slow(state: OffboardingState, file: ExportFile) -> ExportDigest:
        clock.sleep(3 * LEASE.total_seconds())
        return verify(state, file)

    async def second_worker() -> None:
        await asyncio.sleep(2 * LEASE.total_seconds())
        with pytest.raises(Conflict, match="another worker") as refusal:
            await worker.run(tenant, with_short_lease(migrator))
        refused.append(refusal.value)

    second = list[asyncio.Task[None]]()

    def failpoint(name: str) -> None:
        if name == f"before {OffboardingPhase.VERIFYING_EXPORT}":
            second.append(asyncio.ensure_future(second_worker()))

    monkeypatch.setattr(export_pass, "verify_export", slow)
    done = await worker.run(tenant, with_short_lease(migrator), failpoint=failpoint)
    await asyncio.gather(*second)
    assert (done.phase, done.exported_count, done.purged_count) == (OffboardingPhase.FINISHED, COUNT, COUNT)
    assert len(refused) == 1


LOST = [
    OffboardingPhase.SUSPENDING,
    OffboardingPhase.PURGING,
    OffboardingPhase.DROPPING_TABLE,
    OffboardingPhase.ERASING_EVENTS,
    OffboardingPhase.FINISHING,
]


@pytest.mark.parametrize("phase", LOST)
async def test_a_worker_that_lost_its_lease_publishes_purges_and_drops_nothing(
    stack: ServiceStack, migrator: MigratorAccess, worker: Offboarder, tmp_path: Path, phase: OffboardingPhase
) -> None:
    tenant = await tenant_in_silo(stack, migrator, worker, f"lost-{phase.lower().replace('_', '-')}", COUNT)
    await begin(worker, tenant)
    store, published = with_short_lease(migrator), list[object]()

    async def publish(tenants: object) -> None:
        published.append(tenants)

    class Reached(Exception):
        """Raised at the failpoint, to end the run there."""

    def lose_lease(name: str) -> None:
        if name == f"before {phase}":
            store.table.caller.location.valid_until = -inf
            published.clear()
            clock.sleep(1.5 * LEASE.total_seconds())
        elif name == f"after {phase}":
            raise Reached

    quiet = replace(worker, publish_suspensions=publish)
    with pytest.raises(Throttled, match="another worker may have taken over"):
        await quiet.run(tenant, store, failpoint=lose_lease)
    silo, found = items_in_silo(stack, tenant), await worker.tenants.get(tenant)
    assert found.status is TenantStatus.OFFBOARDING
    assert published == []
    assert not certificates(tmp_path) or phase is OffboardingPhase.FINISHING
    if phase in {OffboardingPhase.SUSPENDING, OffboardingPhase.PURGING}:
        assert len(silo or ()) == COUNT
    if phase is OffboardingPhase.DROPPING_TABLE:
        assert silo == []
    await asyncio.sleep(LEASE.total_seconds())
    done = await worker.run(tenant, JobRepository(migrator.control))
    assert (done.phase, done.exported_count, done.purged_count) == (OffboardingPhase.FINISHED, COUNT, COUNT)
    assert (items_in_silo(stack, tenant), items_of(all_items(stack), tenant)) == (None, [])
