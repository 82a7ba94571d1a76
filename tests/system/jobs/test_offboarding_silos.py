"""The offboarding of a tenant with a table of its own deletes that table, and changes no other table."""

import gzip
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfence.errors import Conflict
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import compare_export, verify_certificate
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState
from keyfence.store.codec import Item
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId
from tests.failures.crashing_client import Crash
from tests.fakes.clock import ManualClock
from tests.stack import RecordingClient, ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    START,
    CrashingProcess,
    Offboarder,
    all_items,
    begin,
    fill,
    items_of,
    offboard,
    offboarder,
    put_items,
    watched,
    with_client,
    without_iam,
)

pytestmark = pytest.mark.one_engine

COUNT, PAGE, STRIDE = 7, 12, 15


def silo(stack: ServiceStack, tenant: TenantId) -> str:
    return f"{stack.settings.table}-silo-{tenant}"


def items_in_silo(stack: ServiceStack, tenant: TenantId) -> list[Any] | None:
    """Returns the items of the tenant's own table, or None if there is no such table."""
    client, table = stack.engine_client(), silo(stack, tenant)
    if table not in client.list_tables()["TableNames"]:
        return None
    return [item for page in client.get_paginator("scan").paginate(TableName=table) for item in page["Items"]]


async def tenant_in_silo(
    stack: ServiceStack, migrator: MigratorAccess, worker: Offboarder, name: str, count: int = COUNT
) -> TenantId:
    """Returns a new tenant whose items are in a table of its own."""
    tenant = await stack.new_tenant(name)
    fill(stack, tenant, count)
    await migrator.silos.create(tenant)
    client, pool = stack.engine_client(), stack.settings.table
    for item in items_of(all_items(stack), tenant):
        client.put_item(TableName=silo(stack, tenant), Item=item)
        client.delete_item(TableName=pool, Key={"PK": item["PK"], "SK": item["SK"]})
    await worker.tenants.change(
        tenant, TenantEventKind.MOVED, lambda one: replace(one, placement=Placement.SILO), detail={}
    )
    return tenant


def exported(exports: Path, job: OffboardingState) -> list[str]:
    with gzip.open(exports / job.export_name) as content:
        return [orjson.loads(line)["item"]["PK"]["S"] for line in content]


async def test_the_tenants_own_table_is_deleted_and_tables_of_other_tenants_stay(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path
) -> None:
    worker = offboarder(migrator, tmp_path, time, page_size=3)
    tenant, beside = (
        await tenant_in_silo(stack, migrator, worker, "owner"),
        await tenant_in_silo(stack, migrator, worker, "owner-1"),
    )
    pooled = await stack.new_tenant("owner-2")
    fill(stack, pooled, COUNT)
    before, theirs, others = (
        items_in_silo(stack, tenant),
        items_in_silo(stack, beside),
        items_of(all_items(stack), pooled),
    )
    job = await offboard(worker, tenant)
    assert before
    assert sorted(exported(tmp_path, job)) == sorted(item["PK"]["S"] for item in before)
    assert (job.phase, job.exported_count, job.purged_count, job.placement) == (
        OffboardingPhase.FINISHED,
        COUNT,
        COUNT,
        Placement.POOL,
    )
    assert (items_in_silo(stack, tenant), items_of(all_items(stack), tenant)) == (None, [])
    assert (items_in_silo(stack, beside), items_of(all_items(stack), pooled)) == (theirs, others)
    claims = verify_certificate(job.certificate or "", KEY.verifier)
    assert (claims["table"], claims["silo"], claims["purged"]) == (stack.settings.table, silo(stack, tenant), COUNT)
    compare_export(claims, tmp_path / job.export_name)
    found = await worker.tenants.get(tenant)
    assert (found.status, found.placement) == (TenantStatus.OFFBOARDED, Placement.POOL)


async def test_items_that_the_tenant_has_in_the_shared_table_are_exported_and_purged_too(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path
) -> None:
    worker = offboarder(migrator, tmp_path, time)
    tenant = await tenant_in_silo(stack, migrator, worker, "divided")
    stray: Item = {"PK": {"S": f"TENANT#{tenant}#LEFT"}, "SK": {"S": "A"}}
    put_items(stack, [stray])
    job = await offboard(worker, tenant)
    assert exported(tmp_path, job)[-1] == f"TENANT#{tenant}#LEFT"
    assert (job.exported_count, job.purged_count, items_of(all_items(stack), tenant)) == (COUNT + 1, COUNT + 1, [])


async def test_items_are_purged_with_credentials_of_the_tenant_before_its_table_is_deleted(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path
) -> None:
    recorder = RecordingClient(migrator.tables.client)
    worker = offboarder(with_client(migrator, recorder), tmp_path, time)
    tenant, beside = (
        await tenant_in_silo(stack, migrator, worker, "itself"),
        await tenant_in_silo(stack, migrator, worker, "itself-1"),
    )
    recorder.calls.clear()
    held = list[int]()

    def on_failpoint(name: str) -> None:
        if name == f"before {OffboardingPhase.DROPPING_TABLE}":
            held.append(len(items_in_silo(stack, tenant) or ()))

    await offboard(worker.with_resources(failpoint=on_failpoint), tenant)
    assert held == [0]
    scans = {call.credentials for call in recorder.calls if call.operation == "Scan"}
    (as_tenant,) = {call.credentials for call in recorder.calls if call.operation == "BatchWriteItem"}
    assert as_tenant not in scans
    theirs = (items_in_silo(stack, beside) or [])[0]
    key = {"PK": theirs["PK"], "SK": theirs["SK"]}
    for table in (silo(stack, beside), stack.settings.table):
        with pytest.raises(stack.engine_client().exceptions.ClientError, match="AccessDenied"):
            stack.boto_client_with(as_tenant).delete_item(TableName=table, Key=key)


async def test_a_table_is_not_deleted_before_all_its_items_are_purged(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path
) -> None:
    worker = offboarder(migrator, tmp_path, time)
    tenant = await tenant_in_silo(stack, migrator, worker, "unfinished")
    await begin(worker, tenant)
    at = list[OffboardingState]()
    worker = watched(worker, at.append)
    job = await worker.run(tenant, should_stop=lambda: bool(at) and at[-1].phase is OffboardingPhase.DROPPING_TABLE)
    assert job.phase is OffboardingPhase.DROPPING_TABLE
    await worker.set_state(tenant, purged_count=COUNT - 1)
    with pytest.raises(Conflict, match="the table is not deleted"):
        await worker.run(tenant)
    assert items_in_silo(stack, tenant) == []


@pytest.mark.full("a crash at every call")
async def test_an_offboarding_is_completed_after_a_crash_before_or_after_the_table_is_deleted(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path
) -> None:
    """Crashes at every place around the deletion, and at every 15th other place."""
    beside = await tenant_in_silo(stack, migrator, offboarder(migrator, tmp_path, ManualClock.at(START)), "torn-beside")
    theirs, whole = items_in_silo(stack, beside), CrashingProcess(migrator.tables.client)
    await run_and_crash(stack, migrator, tmp_path / "whole", "torn-whole", whole)
    dropped = whole.places.index("dropped")
    around = {*range(0, len(whole.places), STRIDE), *range(dropped - 2, dropped + 5)}
    died = [
        await run_and_crash(
            stack, migrator, tmp_path / f"{at}", f"torn-{at}", CrashingProcess(migrator.tables.client, at)
        )
        for at in around
    ]
    assert set(died) >= {
        f"before {OffboardingPhase.DROPPING_TABLE}",
        "dropped",
        f"after {OffboardingPhase.DROPPING_TABLE}",
        f"saved {OffboardingPhase.DROPPING_TABLE}",
    }
    assert items_in_silo(stack, beside) == theirs


async def run_and_crash(
    stack: ServiceStack, migrator: MigratorAccess, exports: Path, name: str, process: CrashingProcess
) -> str:
    """Runs an offboarding until it crashes, lets the next worker complete it, and returns the place of the crash."""
    time = ManualClock.at(START)
    healthy = without_iam(offboarder(migrator, exports, time, page_size=PAGE))
    tenant = await tenant_in_silo(stack, migrator, healthy, name)
    await begin(healthy, tenant)
    with suppress(Crash):
        dying = offboarder(with_client(migrator, process), exports, time, page_size=PAGE, failpoint=process.place)
        await without_iam(dying).run(tenant)
    if process.crashed:
        await time.sleep(61)
        await healthy.run(tenant)
    job = await healthy.state(tenant)
    assert (job.phase, job.exported_count, job.purged_count, job.round) == (OffboardingPhase.FINISHED, COUNT, COUNT, 3)
    assert (items_in_silo(stack, tenant), items_of(all_items(stack), tenant)) == (None, [])
    compare_export(verify_certificate(job.certificate or "", KEY.verifier), exports / job.export_name)
    return process.places[-1]
