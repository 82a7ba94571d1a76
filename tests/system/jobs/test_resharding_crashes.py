"""After a crash at any place, the next worker completes a reshard with the same result."""

import asyncio
import json
import signal
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.domains.activity.activity_log import activities
from keyfence.domains.counters.sharded_counter import CounterPart, counters
from keyfence.domains.customers.access_patterns import customers
from keyfence.errors import Conflict
from keyfence.jobs.job_record import Job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.reshard.reshard_phases import with_counts
from keyfence.store.entity import Entity
from keyfence.store.shards import ShardCounts
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack
from tests.system.field_costs.large_tenant import LargeTenant
from tests.system.jobs.offboarding_run import (
    START,
    CrashingProcess,
    delete_items,
    put_items,
    with_client,
)
from tests.system.jobs.reshard_run import ReshardRun, items_by_shard, items_of

pytestmark = pytest.mark.one_engine

ENTITIES = load_domains().entities.tenant_entities_by_type
SIZE, PAGE = 6, 12
MODELS = tuple(LargeTenant.with_size(SIZE).stored_models())
RESHARDS = {"grow": (2, 4, False), "shrink": (4, 2, False), "rebalance": (4, 4, True)}
"""By kind of reshard: the shards before, the shards after, and whether it is a rebalance."""
COLLECTIONS = ("customers", "activity", "counters")
CASES = [
    ("grow", "customers"),
    *(("shrink", collection) for collection in COLLECTIONS),
    ("rebalance", "customers"),
    ("rebalance", "activity"),
]
"""Growth moves no items, so one collection is enough. A rebalance does not move parts of a sum."""
ENTITY_BY_COLLECTION: dict[str, Entity[Any]] = {"customers": customers, "activity": activities}
FAILPOINTS = {"settled", "before publishing", "published"}
PASSES = {f"{when} {name}-1" for when in ("before", "processed", "saved") for name in ("MOVING", "VERIFYING")}


def filled(stack: ServiceStack, tenant: TenantId, collection: str, shards: int) -> None:
    """Puts items of a collection into the engine, spread over this number of shards."""
    own: Entity[Any] | None = ENTITY_BY_COLLECTION.get(collection)
    models: list[Any] = [model for entity, model in MODELS if entity is own]
    if own is None:
        models = [
            CounterPart(name="door", part=f"p{at}", total=at + 1, version=1, created_at=START, updated_at=START)
            for at in range(SIZE)
        ]
    fence, shard_map = tenant_fence(tenant), even_shards({collection: shards})
    items = [(own or counters).to_item(model, fence, shard_map) for model in models]
    put_items(stack, list({(item["PK"]["S"], item["SK"]["S"]): item for item in items}.values()))


async def start_reshard_of(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId, collection: str, kind: str
) -> Job:
    before, after, rebalance = RESHARDS[kind]
    filled(stack, tenant, collection, 1 if rebalance else before)
    counts = ShardCounts(read_shards=before, write_shards=before, former_write_shards=(1,))
    resharder = ReshardRun(migrator=migrator)
    await resharder.tenants.change(
        tenant, TenantEventKind.SHARDS_GROWN, lambda one: with_counts(one, collection, counts), detail={}
    )
    return await resharder.begin(tenant, collection, after, rebalance=rebalance)


def content(stack: ServiceStack, tenant: TenantId, collection: str) -> tuple[Any, ...]:
    """Returns the items of a tenant without prefixes, to compare tenants. Of counters: the sum and the shards."""
    items = items_of(stack, tenant)
    if collection == "counters":
        return sum(int(item["total"]["N"]) for item in items), sorted(items_by_shard(items, collection, ENTITIES))
    fence = tenant_fence(tenant)
    texts = (json.dumps(item, sort_keys=True) for item in items)
    return tuple(text.replace(str(fence.index_prefix), "").replace(fence.prefix, "") for text in texts)


async def state(resharder: ReshardRun, tenant: TenantId, collection: str, job: Job) -> tuple[Any, ...]:
    counts = await resharder.counts(tenant, collection)
    found = await resharder.job_resources().store.get(job.id)
    kinds = Counter([one.kind async for one in resharder.tenants.table.iterate_shards(events_of_tenant, tenant=tenant)])
    return counts, found.phase, found.worker, found.round, kinds


@pytest.mark.parametrize(
    ("kind", "collection"), tier.cases(CASES, default=[("shrink", "customers")], reason="a crash at every call")
)
async def test_a_reshard_is_completed_after_a_crash_at_any_call_or_failpoint(
    stack: ServiceStack, migrator: MigratorAccess, collection: str, kind: str
) -> None:
    delete_items(stack)  # those of other tests: every run must scan the same number of pages
    whole, healthy, watched = (
        await stack.new_tenant(),
        ReshardRun(migrator=migrator),
        CrashingProcess(migrator.tables.client),
    )
    job = await start_reshard_of(stack, migrator, whole, collection, kind)
    await ReshardRun(migrator=with_client(migrator, watched)).run(job, page_size=PAGE, failpoint=watched.place)
    end = content(stack, whole, collection), await state(healthy, whole, collection, job)
    assert set(watched.places) >= (FAILPOINTS if kind == "grow" else FAILPOINTS | PASSES)
    delete_items(stack)
    for at in _crash_positions(watched.places):
        tenant, process, resharder = (
            await stack.new_tenant(),
            CrashingProcess(migrator.tables.client, at),
            ReshardRun(migrator=migrator),
        )
        job = await start_reshard_of(stack, migrator, tenant, collection, kind)
        crashing = ReshardRun(migrator=with_client(migrator, process), time=resharder.time)
        with suppress(Crash):
            await crashing.run(job, page_size=PAGE, failpoint=process.place)
        assert process.crashed
        await _wait_for_lease(resharder, job)
        assert (content(stack, tenant, collection), await state(resharder, tenant, collection, job)) == end
        delete_items(stack)


def _crash_positions(passed: list[str]) -> list[int]:
    """Returns the position of every failpoint, and of the first call of each kind after each failpoint."""
    found, failpoint = dict[tuple[str, str], int](), ""
    for at, place in enumerate(passed):
        failpoint = failpoint if place.startswith(("asking", "answered")) else place
        found.setdefault((failpoint, place), at)
    return list(found.values())


async def _wait_for_lease(resharder: ReshardRun, job: Job) -> None:
    with suppress(Conflict):
        await resharder.run(job, page_size=PAGE)
        return
    await resharder.time.sleep(61)
    await resharder.run(job, page_size=PAGE)


@pytest.mark.parametrize(
    ("kind", "collection"),
    tier.cases(
        [(kind, collection) for kind in ("shrink", "rebalance") for collection in COLLECTIONS],
        default=[("shrink", "customers")],
        reason="kills processes",
    ),
)
async def test_the_next_process_completes_a_reshard_whose_process_was_killed_between_items(
    stack: ServiceStack, migrator: MigratorAccess, collection: str, kind: str
) -> None:
    well, tenant = await stack.new_tenant(), await stack.new_tenant()
    resharder = ReshardRun(migrator=migrator)
    job = await start_reshard_of(stack, migrator, well, collection, kind)
    calls = CrashingProcess(migrator.tables.client)
    await ReshardRun(migrator=with_client(migrator, calls)).run(job, page_size=PAGE)
    end = content(stack, well, collection), await state(resharder, well, collection, job)
    job = await start_reshard_of(stack, migrator, tenant, collection, kind)
    given = {
        "table": stack.settings.table,
        "gate": stack.gate.url,
        "key": stack.gate_key.hex(),
        "job": job.id,
        "page": PAGE,
        "call_number": _position_between_pages(calls.places),
    }
    module = "tests.failures.resharding_process"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, json.dumps(given))
    assert await process.wait() == -signal.SIGKILL
    assert (await resharder.counts(tenant, collection)).job_id == job.id
    await resharder.run(job, page_size=PAGE)
    assert (content(stack, tenant, collection), await state(resharder, tenant, collection, job)) == end


def _position_between_pages(places: list[str]) -> int:
    """Returns the number of a call after the first page of items was processed."""
    asked = [place for place in places if place.startswith("asking")]
    return next(at for at, place in enumerate(asked) if place == "asking Scan") + 6
