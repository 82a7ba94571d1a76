"""A certificate is signed only if all items are gone. After that only a tombstone of the tenant stays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from keyfence.admin.context import AdminContextFactory
from keyfence.admin.onboarding import OnboardingRequest
from keyfence.errors import Conflict
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import certificate_path, compare_export, verify_certificate
from keyfence.jobs.offboard.export_pass import INDEX_LAG_SECONDS
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState, state_of
from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.timestamps import timestamp_text
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.issuer_registration import new_tenant_issuer
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    OPERATOR,
    START,
    all_items,
    begin,
    fill,
    items_of,
    offboard,
    offboarder,
    put_items,
    run_until,
    watched,
    with_client,
)

ISSUER = "https://id.leaving.example"


async def test_no_certificate_is_signed_while_new_items_keep_appearing(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    def stubborn(job: OffboardingState) -> None:
        if job.phase is OffboardingPhase.PURGING:
            put_items(stack, [{"PK": {"S": f"TENANT#{tenant}#LATE#{job.round}"}, "SK": {"S": "A"}}])

    fill(stack, tenant, 1)
    worker = offboarder(migrator, tmp_path, time)
    with pytest.raises(Conflict, match="keep appearing"):
        await offboard(watched(worker, stubborn), tenant)
    assert (await worker.tenants.get(tenant)).status is TenantStatus.OFFBOARDING
    job = await worker.run(tenant)
    assert (job.phase, job.exported_count) == (OffboardingPhase.FINISHED, job.purged_count)


async def test_no_certificate_is_signed_while_another_tenants_item_has_an_index_key_of_this_tenant(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    other = await stack.new_tenant()
    keys: list[Any] = [{"PK": {"S": f"TENANT#{other}#{at}"}, "SK": {"S": "A"}} for at in range(2)]
    fill(stack, tenant, 2)
    put_items(stack, [key | {"GSI2PK": {"S": f"TENANT#{tenant}#L"}, "GSI2SK": {"S": "1"}} for key in keys])
    worker = offboarder(migrator, tmp_path, time, page_size=1)
    for _ in range(2):
        with pytest.raises(Conflict, match="2 items of other tenants"):
            await offboard(worker, tenant)
        assert items_of(all_items(stack), tenant) == []
        assert len(items_of(all_items(stack), other)) == 2, "they are not this tenant's to purge"
    for key in keys:
        stack.engine_client().delete_item(TableName=stack.settings.table, Key=key)
    assert (await worker.run(tenant)).phase is OffboardingPhase.FINISHED


@dataclass(slots=True)
class Lagging:
    """Shows a deleted item in an index for a number of scans."""

    client: DynamoDb
    index: str
    item: Item
    scans: int

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        if operation != "Scan" or parameters.get("IndexName") != self.index or self.scans <= 0:
            return answer
        self.scans -= 1
        return {**answer, "Items": [*answer["Items"], self.item]}

    def close(self) -> None: ...


@pytest.mark.parametrize("index", ["GSI1", "GSI2", "GSI3"])
async def test_a_round_is_repeated_while_an_index_still_shows_an_item(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId, index: str
) -> None:
    fill(stack, tenant, 2)
    lagging = Lagging(migrator.tables.client, index, {"PK": {"S": f"TENANT#{tenant}#A"}, "SK": {"S": "B"}}, 2)
    job = await offboard(offboarder(with_client(migrator, lagging), tmp_path, time), tenant)
    assert (job.phase, job.exported_count, job.round) == (OffboardingPhase.FINISHED, 2, 4)
    assert time.slept[-2:] == [INDEX_LAG_SECONDS, INDEX_LAG_SECONDS]


async def test_no_certificate_is_signed_if_an_index_never_stops_showing_an_item(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    lagging = Lagging(migrator.tables.client, "GSI2", {"PK": {"S": f"TENANT#{tenant}#A"}, "SK": {"S": "B"}}, 1000)
    worker = offboarder(with_client(migrator, lagging), tmp_path, time)
    with pytest.raises(Conflict, match="keep appearing"):
        await offboard(worker, tenant)
    assert (await worker.tenants.get(tenant)).status is TenantStatus.OFFBOARDING


async def test_no_certificate_is_signed_if_exported_and_purged_counts_differ(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 5)
    worker = offboarder(migrator, tmp_path, time)
    job = await run_until(worker, tenant, OffboardingPhase.CERTIFYING)
    assert job.purged_count == 5
    await worker.set_state(tenant, purged_count=4)
    with pytest.raises(Conflict, match="5 items were exported and 4 purged"):
        await worker.run(tenant)
    assert (await worker.tenants.get(tenant)).status is TenantStatus.OFFBOARDING


async def test_only_a_tombstone_and_events_without_details_stay_of_the_tenant(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path
) -> None:
    worker, keys = offboarder(migrator, tmp_path, time), TenantIdentityProvider(issuer=ISSUER)
    wanted = OnboardingRequest(
        id=TenantId("leaver"),
        name="Leaver",
        tier=Tier.PREMIUM,
        owner_email="ann@leaver.example",
        owner_name="Ann",
        issuer=ISSUER,
        jwks=keys.jwks(),
    )
    factory = AdminContextFactory(
        settings=stack.settings, tables=stack.tables, publish_suspensions=stack.connections.publish_suspensions
    )
    onboard = factory.new_onboarding(worker.tenants)
    await onboard(wanted)
    job = await offboard(worker, wanted.id)
    tenant = await worker.tenants.get(wanted.id)
    assert (tenant.status, tenant.name, tenant.issuer, tenant.owner_id) == (TenantStatus.OFFBOARDED, "leaver", "", "")
    assert (tenant.onboarding_digest, tenant.reason, tenant.shards, tenant.stored_bytes) == ("", None, {}, 0)
    assert await worker.tenants.find_issuer(ISSUER) is None
    happened = [one async for one in worker.tenants.table.iterate_shards(events_of_tenant, tenant=wanted.id)]
    assert [one.kind for one in happened][:2] == ["tenant.offboarded", "tenant.offboarding"]
    assert happened[0].by == OPERATOR
    assert not any("leaver.example" in one.detail or ISSUER in one.detail for one in happened)
    with pytest.raises(Conflict):
        await onboard(wanted)
    with pytest.raises(Conflict):
        await onboard(replace(wanted, name="Another", issuer="https://other.example"))
    heir = await onboard(replace(wanted, id=TenantId("heir")))
    assert (heir.created, heir.tenant.issuer) == (True, ISSUER)
    assert job.certificate


async def test_an_issuer_that_another_tenant_has_meanwhile_is_not_deleted(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    """A tenant that uses the issuer of the settings has no issuer item. That of another tenant must stay."""
    worker, issuer = offboarder(migrator, tmp_path, time), "https://id.somebody.example"
    owner = await stack.new_tenant()
    identity = new_tenant_issuer(owner, issuer, TenantIdentityProvider(issuer=issuer).jwks(), None, time.datetime())
    await worker.tenants.add_with_issuer(
        replace(await worker.tenants.get(tenant), id=TenantId("claimer"), issuer=issuer), identity, {}
    )
    await worker.tenants.change(
        tenant, TenantEventKind.ISSUER_KEYS_CHANGED, lambda one: replace(one, issuer=issuer), detail={}
    )
    await offboard(worker, tenant)
    assert await worker.tenants.find_issuer(issuer) == identity


async def test_a_repeated_request_returns_the_same_certificate(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 4)
    worker = offboarder(migrator, tmp_path, time)
    first = await offboard(worker, tenant)
    again = await begin(worker, tenant)
    assert again.tenant.status is TenantStatus.OFFBOARDED
    assert (await worker.run(tenant)).certificate == state_of(again.job).certificate == first.certificate
    assert [one.kind async for one in worker.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)].count(
        TenantEventKind.OFFBOARDED
    ) == 1


async def test_the_certificate_is_signed_and_fits_the_export(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 20)
    job = await offboard(offboarder(migrator, tmp_path, time, page_size=7), tenant)
    beside = certificate_path(tmp_path, job.export_name)
    assert beside.read_text() == job.certificate
    claims = verify_certificate(beside.read_bytes(), KEY.verifier)
    assert (claims["tenant"], claims["exported"], claims["purged"]) == (tenant, 20, 20)
    assert (claims["operator"], claims["table"]) == (OPERATOR, stack.settings.table)
    assert claims["startedAt"] == "2026-11-16T08:00:00.000000Z"
    assert claims["finishedAt"] == timestamp_text(START + migrator.settle_time)
    compare_export(claims, tmp_path / job.export_name)


async def test_a_tenant_without_items_gets_an_empty_export(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    job = await offboard(offboarder(migrator, tmp_path, time), tenant)
    assert (job.exported_count, (tmp_path / job.export_name).read_bytes()) == (0, b"")
    compare_export(verify_certificate(job.certificate or "", KEY.verifier), tmp_path / job.export_name)
