"""An offboarding through throttles, errors and answers that are lost ends as one without."""

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
from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import KEY, START, all_items, begin, fill, items_of, migrator, offboarder

OPERATIONS = ("Scan", "BatchWriteItem", "TransactWriteItems", "GetItem")
KINDS: tuple[FaultKind, ...] = ("throttle", "error", "lost_request", "lost_response")


@pytest.fixture
def by(stack: ServiceStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[MigratorAccess]:
    quick_retries = RetryPolicy(attempts=8, first_pause_seconds=0.001, max_pause_seconds=0.01)
    monkeypatch.setattr(migrator_access, "BACKGROUND_RETRIES", quick_retries)
    with migrator(stack) as made:
        yield made
    stack.gate.faults = ()


@pytest.mark.parametrize("kind", tier.cases(KINDS, default=["lost_response"], reason="every kind of fault"))
@pytest.mark.one_engine
async def test_an_offboarding_is_completed_although_every_third_call_fails(
    stack: ServiceStack, by: MigratorAccess, tmp_path: Path, tenant: TenantId, kind: FaultKind
) -> None:
    fill(stack, tenant, 40)
    given = offboarder(by, tmp_path, ManualClock.at(START), page_size=15)
    stack.gate.faults = [Fault(kind=kind, operation=one, every=3) for one in OPERATIONS]
    await begin(given, tenant)
    job = await given.run(tenant)
    stack.gate.faults = ()
    assert (job.phase, job.exported, job.purged, job.round) == (OffboardingPhase.FINISHED, 40, 40, 2)
    assert items_of(all_items(stack), tenant) == []
    compare_export(verify_certificate(job.certificate or "", KEY.verifier), tmp_path / job.export)
    happened = [one.kind async for one in given.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)]
    assert happened == ["tenant.offboarded", "tenant.offboarding", "tenant.added"]


async def test_no_item_is_deleted_if_access_cannot_be_denied_in_iam(
    stack: ServiceStack, by: MigratorAccess, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 4)
    given = offboarder(by, tmp_path, ManualClock.at(START))

    class Unreachable(Exception):
        """IAM is away."""

    async def away(_: object) -> None:
        raise Unreachable

    broken = replace(given, publish_suspensions=away)
    with pytest.raises(Unreachable):
        await begin(broken, tenant)
    with pytest.raises(Unreachable):
        await broken.run(tenant)
    assert len(items_of(all_items(stack), tenant)) == 4
    assert (await given.tenants.get(tenant)).status is TenantStatus.OFFBOARDING
    await begin(given, tenant)
    assert (await given.run(tenant)).exported == 4
