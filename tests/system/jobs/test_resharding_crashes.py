"""A reshard whose worker dies anywhere is carried through by the next, as if nobody had died."""

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.domains.activity.activity_log import activities
from keyfence.domains.counters.sharded_counter import Counter as Part
from keyfence.domains.counters.sharded_counter import counters
from keyfence.domains.customers.access_patterns import customers
from keyfence.errors import Conflict
from keyfence.jobs.job_record import Job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.reshard.shard_count_changes import with_counts
from keyfence.store.entity import Entity
from keyfence.store.keys import Fence
from keyfence.store.shards import ShardCounts
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack
from tests.system.field_costs.large_tenant import LargeTenant
from tests.system.jobs.offboarding_run import START, CrashingProcess, delete_items, migrator, put_items, with_client
from tests.system.jobs.reshard_run import ReshardRun, items_by_shard, items_of

pytestmark = pytest.mark.one_engine

ENTITIES = load_domains().entities.tenant_entities_by_type
SIZE, PAGE = 6, 12
THINGS = tuple(LargeTenant.with_size(SIZE).stored_models())
WAYS = {"grow": (2, 4, False), "shrink": (4, 2, False), "rebalance": (4, 4, True)}
"""How many slots items were written by, how many there are to be, and whether items are to be put right."""
COLLECTIONS = ("customers", "activity", "counters")
CASES = [
    ("grow", "customers"),
    *(("shrink", collection) for collection in COLLECTIONS),
    ("rebalance", "customers"),
    ("rebalance", "activity"),
]
"""Growing moves nothing, whatever it is that grows, and parts of a number are as good in one slot as in another."""
OWN: dict[str, Entity[Any]] = {"customers": customers, "activity": activities}
SEAMS = {"settled", "before publishing", "published"}
PASSES = {f"{when} {name}-1" for when in ("before", "processed", "saved") for name in ("MOVING", "VERIFYING")}


@pytest.fixture(scope="module")
def by(stack: ServiceStack) -> Iterator[MigratorAccess]:
    with migrator(stack) as made:
        yield made


def filled(stack: ServiceStack, tenant: TenantId, collection: str, shards: int) -> None:
    """Some of one collection, in slots by this count; what is to be rebalanced was there before there were any."""
    own: Entity[Any] | None = OWN.get(collection)
    models: list[Any] = [model for entity, model in THINGS if entity is own]
    if own is None:
        models = [
            Part(name="door", part=f"p{at}", total=at + 1, version=1, created_at=START, updated_at=START)
            for at in range(SIZE)
        ]
    fence, shard_map = Fence.for_tenant(tenant), even_shards({collection: shards})
    items = [(own or counters).to_item(model, fence, shard_map) for model in models]
    put_items(stack, list({(item["PK"]["S"], item["SK"]["S"]): item for item in items}.values()))


async def begun(stack: ServiceStack, by: MigratorAccess, tenant: TenantId, collection: str, way: str) -> Job:
    before, after, rebalance = WAYS[way]
    filled(stack, tenant, collection, 1 if rebalance else before)
    counts = ShardCounts(read_shards=before, write_shards=before, former_write_shards=(1,))
    resharder = ReshardRun(by=by)
    await resharder.tenants.change(
        tenant, TenantEventKind.SHARDS_GROWN, lambda one: with_counts(one, collection, counts), detail={}
    )
    return await resharder.begin(tenant, collection, after, rebalance=rebalance)


def content(stack: ServiceStack, tenant: TenantId, collection: str) -> tuple[Any, ...]:
    """What a tenant has, with where it lies, without whose it is; of a number only the sum and the slots."""
    items = items_of(stack, tenant)
    if collection == "counters":
        return sum(int(item["total"]["N"]) for item in items), sorted(items_by_shard(items, collection, ENTITIES))
    prefix = Fence.for_tenant(tenant).prefix
    return tuple(json.dumps(item, sort_keys=True).replace(prefix, "") for item in items)


async def state(resharder: ReshardRun, tenant: TenantId, collection: str, migration: Job) -> tuple[Any, ...]:
    counts = await resharder.counts(tenant, collection)
    found = await resharder.means().store.get(migration.id)
    kinds = Counter([one.kind async for one in resharder.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)])
    return counts, found.phase, found.worker, found.round, kinds


@pytest.mark.parametrize(
    ("way", "collection"), tier.cases(CASES, default=[("shrink", "customers")], reason="a crash at every call")
)
async def test_a_reshard_is_completed_after_a_crash_at_any_call_or_failpoint(
    stack: ServiceStack, by: MigratorAccess, collection: str, way: str
) -> None:
    whole, healthy, watched = await stack.new_tenant(), ReshardRun(by=by), CrashingProcess(by.tables.client)
    migration = await begun(stack, by, whole, collection, way)
    await ReshardRun(by=with_client(by, watched)).run(migration, page_size=PAGE, failpoint=watched.place)
    end = content(stack, whole, collection), await state(healthy, whole, collection, migration)
    assert set(watched.places) >= (SEAMS if way == "grow" else SEAMS | PASSES)
    delete_items(stack)
    for at in _places(watched.places):
        tenant, mortal, resharder = await stack.new_tenant(), CrashingProcess(by.tables.client, at), ReshardRun(by=by)
        migration = await begun(stack, by, tenant, collection, way)
        torn = ReshardRun(by=with_client(by, mortal), time=resharder.time)
        with suppress(Crash):
            await torn.run(migration, page_size=PAGE, failpoint=mortal.place)
        assert mortal.crashed
        await _taken_over(resharder, migration)
        assert (content(stack, tenant, collection), await state(resharder, tenant, collection, migration)) == end
        delete_items(stack)


def _places(passed: list[str]) -> list[int]:
    """Every seam, and between any two of them the first of each kind of call."""
    found, seam = dict[tuple[str, str], int](), ""
    for at, place in enumerate(passed):
        seam = seam if place.startswith(("asking", "answered")) else place
        found.setdefault((seam, place), at)
    return list(found.values())


async def _taken_over(resharder: ReshardRun, migration: Job) -> None:
    with suppress(Conflict):
        await resharder.run(migration, page_size=PAGE)
        return
    await resharder.time.sleep(61)
    await resharder.run(migration, page_size=PAGE)


@pytest.mark.parametrize(
    ("way", "collection"),
    tier.cases(
        [(way, collection) for way in ("shrink", "rebalance") for collection in COLLECTIONS],
        default=[("shrink", "customers")],
        reason="kills processes",
    ),
)
async def test_the_next_process_completes_a_reshard_whose_process_was_killed_between_items(
    stack: ServiceStack, by: MigratorAccess, collection: str, way: str
) -> None:
    well, tenant = await stack.new_tenant(), await stack.new_tenant()
    resharder = ReshardRun(by=by)
    migration = await begun(stack, by, well, collection, way)
    calls = CrashingProcess(by.tables.client)
    await ReshardRun(by=with_client(by, calls)).run(migration, page_size=PAGE)
    end = content(stack, well, collection), await state(resharder, well, collection, migration)
    migration = await begun(stack, by, tenant, collection, way)
    given = {
        "table": stack.settings.table,
        "gate": stack.gate.url,
        "key": stack.gate_key.hex(),
        "job": migration.id,
        "page": PAGE,
        "call_number": _amid(calls.places),
    }
    module = "tests.failures.resharding_process"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, json.dumps(given))
    assert await process.wait() == -signal.SIGKILL
    assert (await resharder.counts(tenant, collection)).job_id == migration.id
    await resharder.run(migration, page_size=PAGE)
    assert (content(stack, tenant, collection), await state(resharder, tenant, collection, migration)) == end


def _amid(places: list[str]) -> int:
    """The call after the first page of items was moved, or looked at."""
    asked = [place for place in places if place.startswith("asking")]
    return next(at for at, place in enumerate(asked) if place == "asking Scan") + 6
