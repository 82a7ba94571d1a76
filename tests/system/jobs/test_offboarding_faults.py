"""An offboarding has the same result if calls are throttled or fail, or if answers are lost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from keyfence.jobs import migrator_access
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import compare_export, verify_certificate
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.gate.fault_definition import Fault, FaultKind
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    START,
    all_items,
    begin,
    connect_as_migrator,
    fill,
    items_of,
    offboarder,
)

OPERATIONS = ("Scan", "BatchWriteItem", "TransactWriteItems", "GetItem")
KINDS: tuple[FaultKind, ...] = ("throttle", "error", "lost_request", "lost_response")


@pytest.fixture
def migrator(stack: ServiceStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[MigratorAccess]:
    quick_retries = RetryPolicy(attempts=8, first_pause_seconds=0.001, max_pause_seconds=0.01)
    monkeypatch.setattr(migrator_access, "BACKGROUND_RETRIES", quick_retries)
    with connect_as_migrator(stack) as access:
        yield access
    stack.gate.faults = ()


@pytest.mark.parametrize("kind", tier.cases(KINDS, default=["lost_response"], reason="every kind of fault"))
@pytest.mark.one_engine
async def test_an_offboarding_is_completed_although_every_third_call_fails(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path, tenant: TenantId, kind: FaultKind
) -> None:
    fill(stack, tenant, 40)
    worker = offboarder(migrator, tmp_path, ManualClock.at(START), page_size=15)
    stack.gate.faults = [Fault(kind=kind, operation=one, every=3) for one in OPERATIONS]
    await begin(worker, tenant)
    job = await worker.run(tenant)
    stack.gate.faults = ()
    assert (job.phase, job.exported_count, job.purged_count, job.round) == (OffboardingPhase.FINISHED, 40, 40, 2)
    assert items_of(all_items(stack), tenant) == []
    compare_export(verify_certificate(job.certificate or "", KEY.verifier), tmp_path / job.export_name)
    happened = [one.kind async for one in worker.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)]
    assert happened == ["tenant.offboarded", "tenant.offboarding", "tenant.added"]


async def test_no_item_is_deleted_if_access_cannot_be_denied_in_iam(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 4)
    worker = offboarder(migrator, tmp_path, ManualClock.at(START))

    class Unreachable(Exception):
        """IAM does not answer."""

    async def away(_: object) -> None:
        raise Unreachable

    broken = replace(worker, publish_suspensions=away)
    with pytest.raises(Unreachable):
        await begin(broken, tenant)
    with pytest.raises(Unreachable):
        await broken.run(tenant)
    assert len(items_of(all_items(stack), tenant)) == 4
    assert (await worker.tenants.get(tenant)).status is TenantStatus.OFFBOARDING
    await begin(worker, tenant)
    assert (await worker.run(tenant)).exported_count == 4
