"""A tenant that has a table of its own leaves with it, and nobody else's is touched."""

import gzip
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfence.errors import Conflict
from keyfence.jobs.migrator import MigratorAccess
from keyfence.jobs.offboard.certificate import compare_export, verify_certificate
from keyfence.jobs.offboard.state import OffboardingPhase, OffboardingState
from keyfence.store.codec import Item
from keyfence.tenancy.tenant import Placement, TenantStatus
from keyfence_iam.tenant import TenantId
from tests.engine.offboarding_run import (
    KEY,
    CrashingProcess,
    Offboarder,
    Time,
    all_items,
    begin,
    fill,
    items_of,
    migrator,
    offboard,
    offboarder,
    put_items,
    watched,
    with_client,
    without_iam,
)
from tests.failures.crashing_client import Crash
from tests.stack import Recorder, World

pytestmark = pytest.mark.one_engine

COUNT, PAGE, STRIDE = 7, 12, 15


@pytest.fixture(scope="module")
def by(world: World) -> Iterator[MigratorAccess]:
    with migrator(world) as made:
        yield made


@pytest.fixture
def time() -> Time:
    return Time()


def silo(world: World, tenant: TenantId) -> str:
    return f"{world.settings.table}-silo-{tenant}"


def own(world: World, tenant: TenantId) -> list[Any] | None:
    """What its own table holds, or None where there is none."""
    client, table = world.engine_client(), silo(world, tenant)
    if table not in client.list_tables()["TableNames"]:
        return None
    return [item for page in client.get_paginator("scan").paginate(TableName=table) for item in page["Items"]]


async def placed(world: World, by: MigratorAccess, given: Offboarder, name: str, count: int = COUNT) -> TenantId:
    """A tenant whose items are in a table of its own."""
    tenant = await world.new_tenant(name)
    fill(world, tenant, count)
    await by.silos.create(tenant)
    client, pool = world.engine_client(), world.settings.table
    for item in items_of(all_items(world), tenant):
        client.put_item(TableName=silo(world, tenant), Item=item)
        client.delete_item(TableName=pool, Key={"PK": item["PK"], "SK": item["SK"]})
    await given.register.change(tenant, "test", lambda one: replace(one, placement=Placement.SILO), detail={})
    return tenant


def exported(exports: Path, job: OffboardingState) -> list[str]:
    with gzip.open(exports / job.export) as content:
        return [orjson.loads(line)["item"]["PK"]["S"] for line in content]


async def test_its_table_goes_with_it_and_its_neighbours_stay(
    world: World, by: MigratorAccess, time: Time, tmp_path: Path
) -> None:
    given = offboarder(by, tmp_path, time, page_size=3)
    tenant, beside = await placed(world, by, given, "owner"), await placed(world, by, given, "owner-1")
    pooled = await world.new_tenant("owner-2")
    fill(world, pooled, COUNT)
    before, theirs, others = own(world, tenant), own(world, beside), items_of(all_items(world), pooled)
    job = await offboard(given, tenant)
    assert before
    assert sorted(exported(tmp_path, job)) == sorted(item["PK"]["S"] for item in before)
    assert (job.phase, job.exported, job.purged, job.placement) == (
        OffboardingPhase.FINISHED,
        COUNT,
        COUNT,
        Placement.POOL,
    )
    assert (own(world, tenant), items_of(all_items(world), tenant)) == (None, [])
    assert (own(world, beside), items_of(all_items(world), pooled)) == (theirs, others)
    claims = verify_certificate(job.certificate or "", KEY.verifier)
    assert (claims["table"], claims["silo"], claims["purged"]) == (world.settings.table, silo(world, tenant), COUNT)
    compare_export(claims, tmp_path / job.export)
    found = await given.register.get(tenant)
    assert (found.status, found.placement) == (TenantStatus.OFFBOARDED, Placement.POOL)


async def test_what_lies_in_the_pool_besides_is_exported_and_purged_too(
    world: World, by: MigratorAccess, time: Time, tmp_path: Path
) -> None:
    given = offboarder(by, tmp_path, time)
    tenant = await placed(world, by, given, "divided")
    stray: Item = {"PK": {"S": f"TENANT#{tenant}#LEFT"}, "SK": {"S": "A"}}
    put_items(world, [stray])
    job = await offboard(given, tenant)
    assert exported(tmp_path, job)[-1] == f"TENANT#{tenant}#LEFT"
    assert (job.exported, job.purged, items_of(all_items(world), tenant)) == (COUNT + 1, COUNT + 1, [])


async def test_it_is_purged_as_itself_in_its_own_table_before_that_is_dropped(
    world: World, by: MigratorAccess, time: Time, tmp_path: Path
) -> None:
    recorder = Recorder(by.tables.client)
    given = offboarder(with_client(by, recorder), tmp_path, time)
    tenant, beside = await placed(world, by, given, "itself"), await placed(world, by, given, "itself-1")
    recorder.calls.clear()
    held = list[int]()

    def seam(name: str) -> None:
        if name == f"before {OffboardingPhase.DROPPING_TABLE}":
            held.append(len(own(world, tenant) or ()))

    await offboard(given.with_resources(failpoint=seam), tenant)
    assert held == [0]
    scans = {call.credentials for call in recorder.calls if call.operation == "Scan"}
    (as_tenant,) = {call.credentials for call in recorder.calls if call.operation == "BatchWriteItem"}
    assert as_tenant not in scans
    theirs = (own(world, beside) or [])[0]
    key = {"PK": theirs["PK"], "SK": theirs["SK"]}
    for table in (silo(world, beside), world.settings.table):
        with pytest.raises(world.engine_client().exceptions.ClientError, match="AccessDenied"):
            world.client_of(as_tenant).delete_item(TableName=table, Key=key)


async def test_a_table_whose_items_were_not_all_purged_is_not_dropped(
    world: World, by: MigratorAccess, time: Time, tmp_path: Path
) -> None:
    given = offboarder(by, tmp_path, time)
    tenant = await placed(world, by, given, "unfinished")
    await begin(given, tenant)
    at = list[OffboardingState]()
    worker = watched(given, at.append)
    job = await worker.run(tenant, should_stop=lambda: bool(at) and at[-1].phase is OffboardingPhase.DROPPING_TABLE)
    assert job.phase is OffboardingPhase.DROPPING_TABLE
    await given.set_state(tenant, purged=COUNT - 1)
    with pytest.raises(Conflict, match="the table is not deleted"):
        await given.run(tenant)
    assert own(world, tenant) == []


@pytest.mark.full("a crash at every call")
async def test_a_worker_may_die_before_its_table_is_dropped_and_after(
    world: World, by: MigratorAccess, tmp_path: Path
) -> None:
    """At every place around that, and at every so many others."""
    beside = await placed(world, by, offboarder(by, tmp_path, Time()), "torn-beside")
    theirs, whole = own(world, beside), CrashingProcess(by.tables.client)
    await torn(world, by, tmp_path / "whole", "torn-whole", whole)
    dropped = whole.places.index("dropped")
    around = {*range(0, len(whole.places), STRIDE), *range(dropped - 2, dropped + 5)}
    died = [
        await torn(world, by, tmp_path / f"{at}", f"torn-{at}", CrashingProcess(by.tables.client, at)) for at in around
    ]
    assert set(died) >= {
        f"before {OffboardingPhase.DROPPING_TABLE}",
        "dropped",
        f"after {OffboardingPhase.DROPPING_TABLE}",
        f"saved {OffboardingPhase.DROPPING_TABLE}",
    }
    assert own(world, beside) == theirs


async def torn(world: World, by: MigratorAccess, exports: Path, name: str, process: CrashingProcess) -> str:
    """Where it died; whoever came next has brought it to the end that it would have had."""
    time = Time()
    healthy = without_iam(offboarder(by, exports, time, page_size=PAGE))
    tenant = await placed(world, by, healthy, name)
    await begin(healthy, tenant)
    with suppress(Crash):
        dying = offboarder(with_client(by, process), exports, time, page_size=PAGE, failpoint=process.place)
        await without_iam(dying).run(tenant)
    if process.crashed:
        await time.sleep(61)
        await healthy.run(tenant)
    job = await healthy.state(tenant)
    assert (job.phase, job.exported, job.purged, job.round) == (OffboardingPhase.FINISHED, COUNT, COUNT, 3)
    assert (own(world, tenant), items_of(all_items(world), tenant)) == (None, [])
    compare_export(verify_certificate(job.certificate or "", KEY.verifier), exports / job.export)
    return process.places[-1]
