"""An offboarding exports all items of a tenant, purges them, and signs a certificate."""

import base64
import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfence.admin.context import AdminContextFactory
from keyfence.admin.onboarding import OnboardingRequest
from keyfence.errors import BadInput, Conflict, Forbidden, NotFound
from keyfence.jobs.job_runner import WAIT_STEP_SECONDS
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import certificate_path, compare_export, verify_certificate
from keyfence.jobs.offboard.export_file import ExportDamaged
from keyfence.jobs.offboard.export_pass import INDEX_LAG_SECONDS
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState, state_of
from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.job_writes import delete_items
from keyfence.store.keys import Fence
from keyfence.store.timestamps import timestamp_text
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.issuer_registration import new_tenant_issuer
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.credentials import Credentials
from keyfence_iam.roles.names import MIGRATOR
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.stack import RecordingClient, ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    OPERATOR,
    START,
    Offboarder,
    all_items,
    begin,
    connect_as_migrator,
    fill,
    items_of,
    offboard,
    offboarder,
    put_items,
    watched,
    with_client,
)

ISSUER = "https://id.leaving.example"


@pytest.fixture(scope="module")
def migrator(stack: ServiceStack) -> Iterator[MigratorAccess]:
    with connect_as_migrator(stack) as access:
        yield access


@pytest.fixture
def time() -> ManualClock:
    return ManualClock.at(START)


def lines(exports: Path, job: OffboardingState) -> list[Any]:
    with gzip.open(exports / job.export_name) as content:
        return [orjson.loads(line)["item"] for line in content]


def sorted_items(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


async def test_every_item_of_the_tenant_is_exported_and_deleted_from_the_table(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 60)
    worker = items_of(all_items(stack), tenant)
    job = await offboard(offboarder(migrator, tmp_path, time, page_size=25), tenant)
    assert sorted_items(lines(tmp_path, job)) == orjson.loads(orjson.dumps(worker, default=_base64))
    assert (job.phase, job.exported_count, job.purged_count, job.stray_count, job.round) == (
        OffboardingPhase.FINISHED,
        60,
        60,
        0,
        2,
    )
    for index in (None, "GSI1", "GSI2", "GSI3"):
        assert items_of(all_items(stack, index), tenant) == []


async def test_empty_pages_do_not_end_the_scan(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, await stack.new_tenant(), 10, indexed=0)
    fill(stack, tenant, 3, indexed=0)
    job = await offboard(offboarder(migrator, tmp_path, time, page_size=2), tenant)
    assert (job.exported_count, items_of(all_items(stack), tenant)) == (3, [])


def _base64(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


@pytest.mark.parametrize(("leaver", "neighbour"), [("a1", "a10"), ("b10", "b1"), ("c-1", "c-1-1")])
async def test_a_tenant_whose_id_has_the_same_beginning_keeps_all_items_unchanged(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, leaver: str, neighbour: str
) -> None:
    gone, stays = await stack.new_tenant(leaver), await stack.new_tenant(neighbour)
    fill(stack, gone, 12)
    fill(stack, stays, 12)
    before = {index: items_of(all_items(stack, index), stays) for index in (None, "GSI1", "GSI2", "GSI3")}
    job = await offboard(offboarder(migrator, tmp_path, time), gone)
    assert {item["PK"]["S"].split("#")[1] for item in lines(tmp_path, job)} == {leaver}
    assert {index: items_of(all_items(stack, index), stays) for index in before} == before
    assert len(before[None]) == 12


async def test_no_text_of_the_tenants_items_stays_in_the_engine(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 9, text="Zephyrine zephyrine@leaving.example")
    operator = stack.operator_client()
    await operator.data('mutation($id: ID!) { renameTenant(id: $id, name: "Zephyrine & Sons") { id } }', id=tenant)
    await operator.data('mutation($id: ID!) { suspendTenant(id: $id, reason: "Zephyrine asked") { id } }', id=tenant)
    assert b"Zephyrine" in _bytes(stack)
    await offboard(offboarder(migrator, tmp_path, time), tenant)
    assert b"ephyrine" not in _bytes(stack)


def _bytes(stack: ServiceStack) -> bytes:
    return repr([all_items(stack, index) for index in (None, "GSI1", "GSI2", "GSI3")]).encode()


async def test_a_confirmation_that_is_not_the_id_changes_nothing(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    worker = offboarder(migrator, tmp_path, time)
    before = await worker.tenants.get(tenant)
    for wrong in ("", tenant.upper(), f"{tenant} ", "acme"):
        with pytest.raises(BadInput) as refusal:
            await begin(worker, tenant, wrong or "-")
        assert refusal.value.extensions == {"field": "confirm"}
    assert await worker.tenants.get(tenant) == before
    assert await worker.find_job(tenant) is None
    with pytest.raises(NotFound):
        await begin(worker, TenantId("nobody-here"))


async def test_the_tenant_is_denied_access_before_the_first_item_is_read(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    """This also holds for credentials that were issued before, and before a worker runs the job."""
    fill(stack, tenant, 3)
    session, client = stack.api_client(tenant), stack.boto_client(tenant)
    await session.data("{ users(first: 1) { edges { node { id } } } }")
    worker = offboarder(migrator, tmp_path, time)
    await begin(worker, tenant)
    with pytest.raises(client.exceptions.ClientError) as denial:
        client.get_item(TableName=stack.settings.table, Key={"PK": {"S": f"TENANT#{tenant}#A"}, "SK": {"S": "B"}})
    assert denial.value.response["Error"]["Code"] == "AccessDeniedException"
    phases: list[tuple[OffboardingPhase, list[float]]] = []
    await watched(worker, lambda job: phases.append((job.phase, list(time.slept)))).run(tenant)
    first_read = next(slept for phase, slept in phases if phase is OffboardingPhase.EXPORTING)
    assert sum(first_read) == migrator.settle_time.total_seconds(), "it waits for the whole settle time"


async def test_items_are_purged_with_credentials_of_the_tenant_and_not_of_the_migrator(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 30)
    recorder = RecordingClient(migrator.tables.client)
    await offboard(offboarder(with_client(migrator, recorder), tmp_path, time), tenant)
    scans = {call.credentials for call in recorder.calls if call.operation == "Scan"}
    purges = {call.credentials for call in recorder.calls if call.operation == "BatchWriteItem"}
    assert len(scans) == len(purges) == 1
    assert not scans & purges
    (as_tenant,) = purges
    other = {"PK": {"S": "TENANT#somebody-else#A"}, "SK": {"S": "B"}}
    with pytest.raises(stack.engine_client().exceptions.ClientError, match="AccessDenied"):
        stack.boto_client_with(as_tenant).delete_item(TableName=stack.settings.table, Key=other)
    with pytest.raises(stack.engine_client().exceptions.ClientError, match="AccessDenied"):
        stack.role_boto_client(MIGRATOR).delete_item(TableName=stack.settings.table, Key=other)


async def test_items_that_are_written_meanwhile_are_exported_and_purged_too(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    """They are exported in another round, after the lines that are already in the file."""
    fill(stack, tenant, 5)

    def late(job: OffboardingState) -> None:
        if (
            job.phase is OffboardingPhase.PURGING
            and job.purged_count + job.found_count == job.exported_count
            and job.round < 3
        ):
            put_items(stack, [{"PK": {"S": f"TENANT#{tenant}#LATE#{job.round}"}, "SK": {"S": "A"}}])

    job = await offboard(offboarder(migrator, tmp_path, time, on_state=late), tenant)
    exported = lines(tmp_path, job)
    assert [item["PK"]["S"] for item in exported[5:]] == [f"TENANT#{tenant}#LATE#{at}" for at in (1, 2)]
    assert (job.exported_count, job.purged_count, job.round) == (7, 7, 4)
    assert items_of(all_items(stack), tenant) == []


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
    job = await stopped_at(worker, tenant, OffboardingPhase.CERTIFYING)
    assert job.purged_count == 5
    await worker.set_state(tenant, purged_count=4)
    with pytest.raises(Conflict, match="5 items were exported and 4 purged"):
        await worker.run(tenant)
    assert (await worker.tenants.get(tenant)).status is TenantStatus.OFFBOARDING


async def test_a_key_outside_the_fence_is_never_purged(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    own, other = ({"PK": {"S": f"TENANT#{one}#A"}, "SK": {"S": "B"}} for one in (tenant, f"{tenant}0"))
    put_items(stack, [own, other])
    with pytest.raises(Forbidden):
        await delete_items(migrator.table_in_pool(tenant), [own, other])
    assert migrator.table_in_pool(tenant).fence == Fence.for_tenant(tenant)
    assert items_of(all_items(stack), tenant) == [own]


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


async def test_a_second_worker_gets_a_conflict_with_the_end_of_the_lease(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 2)
    worker = offboarder(migrator, tmp_path, time)
    await begin(worker, tenant)
    first = worker.store()
    job = await first.save(before := await worker.job(tenant), replace(before, worker=first.worker))
    with pytest.raises(Conflict) as refusal:
        await worker.run(tenant)
    assert refusal.value.extensions["until"] == "2026-11-16T08:01:00+00:00"
    await time.sleep(61)
    assert (await worker.run(tenant)).phase is OffboardingPhase.FINISHED
    with pytest.raises(Conflict, match="taken over"):
        await first.save(job, job)


async def test_a_worker_that_lost_its_lease_does_not_release_the_lease_of_the_next_worker(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    worker = offboarder(migrator, tmp_path, time)
    await begin(worker, tenant)
    other = worker.store()

    async def long(_: float) -> None:
        await time.sleep(61)
        await other.save(before := await worker.job(tenant), replace(before, worker=other.worker))

    with pytest.raises(Conflict, match="taken over"):
        await worker.run(tenant, sleep=long)
    assert (await worker.job(tenant)).worker == other.worker


async def test_a_worker_that_is_asked_to_stop_releases_its_lease(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 10)
    worker = offboarder(migrator, tmp_path, time, page_size=3)
    await begin(worker, tenant)
    seen: list[OffboardingState] = []
    wait_steps = ceil(migrator.settle_time.total_seconds() / WAIT_STEP_SECONDS)
    while not seen or seen[-1].phase is not OffboardingPhase.FINISHED:
        checks = iter([False] * (1 + wait_steps))  # enough for the wait, which starts again in every run
        seen.append(await worker.run(tenant, should_stop=partial(next, checks, True)))
    assert len(seen) > 3
    assert (seen[-1].exported_count, seen[-1].purged_count) == (10, 10)


async def stopped_at(worker: Offboarder, tenant: TenantId, phase: OffboardingPhase) -> OffboardingState:
    """Starts an offboarding, and stops it after the first progress in a phase."""
    await begin(worker, tenant)
    at: list[OffboardingState] = []

    def reached() -> bool:
        return (
            bool(at)
            and at[-1].phase is phase
            and (at[-1].purged_count if phase is OffboardingPhase.PURGING else at[-1].export_size) > 0
        )

    job = await watched(worker, at.append).run(tenant, should_stop=reached)
    assert job.phase is phase
    return job


@pytest.mark.parametrize("phase", [OffboardingPhase.EXPORTING, OffboardingPhase.VERIFYING_EXPORT])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x" * 5000)])
async def test_an_export_that_is_damaged_before_the_first_purge_is_written_again(
    stack: ServiceStack,
    migrator: MigratorAccess,
    time: ManualClock,
    tmp_path: Path,
    tenant: TenantId,
    phase: OffboardingPhase,
    damage: Any,
) -> None:
    fill(stack, tenant, 40)
    worker = offboarder(migrator, tmp_path, time, page_size=30)
    job = await stopped_at(worker, tenant, phase)
    damage(tmp_path / job.export_name)
    done = await worker.run(tenant)
    assert (done.exported_count, done.purged_count, len(lines(tmp_path, done))) == (40, 40, 40)
    compare_export(verify_certificate(done.certificate or "", KEY.verifier), tmp_path / done.export_name)


async def test_a_second_damage_in_one_run_stops_the_job(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 5)
    tries: list[str] = []

    def damage(name: str) -> None:
        if name == f"before {OffboardingPhase.VERIFYING_EXPORT}":
            tries.append(name)
            (path,) = tmp_path.glob("*.gz")
            path.write_bytes(path.read_bytes()[:-1] if len(tries) < 5 else path.read_bytes())

    with pytest.raises(ExportDamaged):
        await offboard(offboarder(migrator, tmp_path, time, failpoint=damage), tenant)
    assert len(tries) == 2
    assert len(items_of(all_items(stack), tenant)) == 5


async def test_an_export_that_is_damaged_after_a_purge_stops_the_job_until_the_file_is_restored(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 40)
    worker = offboarder(migrator, tmp_path, time, page_size=30)
    job = await stopped_at(worker, tenant, OffboardingPhase.PURGING)
    path = tmp_path / job.export_name
    whole = path.read_bytes()
    for bad in (b"", whole[:-9], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:]):
        path.write_bytes(bad)
        with pytest.raises(ExportDamaged):
            await worker.run(tenant)
        assert len(items_of(all_items(stack), tenant)) == 40 - job.purged_count, "nothing more is purged"
    path.write_bytes(whole)
    done = await worker.run(tenant)
    assert (done.exported_count, done.purged_count, done.round) == (40, 40, 2)


async def test_a_worker_without_the_export_file_starts_again_or_stops_and_loses_no_item(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 40)
    here, there = (
        offboarder(migrator, tmp_path / "here", time, page_size=30),
        offboarder(migrator, tmp_path / "there", time, page_size=30),
    )
    await stopped_at(here, tenant, OffboardingPhase.EXPORTING)
    job = await stopped_at(there, tenant, OffboardingPhase.PURGING)
    assert str(job.export_uri).startswith((tmp_path / "there").as_uri())
    with pytest.raises(ExportDamaged):
        await here.run(tenant)
    assert (await there.run(tenant)).exported_count == 40
