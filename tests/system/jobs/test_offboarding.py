"""An offboarding exports all items of a tenant and purges them."""

import base64
from pathlib import Path

import orjson
import pytest

from keyfence.errors import BadInput, Forbidden, NotFound
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState
from keyfence.store.job_writes import delete_items
from keyfence_iam.roles.names import MIGRATOR
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.fences import tenant_fence
from tests.stack import RecordingClient, ServiceStack
from tests.system.jobs.offboarding_run import (
    all_items,
    begin,
    exported_items,
    fill,
    items_of,
    offboard,
    offboarder,
    put_items,
    sorted_items,
    watched,
    with_client,
)

ISSUER = "https://id.leaving.example"


async def test_every_item_of_the_tenant_is_exported_and_deleted_from_the_table(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 60)
    worker = items_of(all_items(stack), tenant)
    job = await offboard(offboarder(migrator, tmp_path, time, page_size=25), tenant)
    assert sorted_items(exported_items(tmp_path, job)) == orjson.loads(orjson.dumps(worker, default=_base64))
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
    assert {item["PK"]["S"].split("#")[1] for item in exported_items(tmp_path, job)} == {leaver}
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
    exported = exported_items(tmp_path, job)
    assert [item["PK"]["S"] for item in exported[5:]] == [f"TENANT#{tenant}#LATE#{at}" for at in (1, 2)]
    assert (job.exported_count, job.purged_count, job.round) == (7, 7, 4)
    assert items_of(all_items(stack), tenant) == []


async def test_a_key_outside_the_fence_is_never_purged(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    own, other = ({"PK": {"S": f"TENANT#{one}#A"}, "SK": {"S": "B"}} for one in (tenant, f"{tenant}0"))
    put_items(stack, [own, other])
    with pytest.raises(Forbidden):
        await delete_items(migrator.table_in_pool(tenant), [own, other])
    assert migrator.table_in_pool(tenant).fence == tenant_fence(tenant)
    assert items_of(all_items(stack), tenant) == [own]
