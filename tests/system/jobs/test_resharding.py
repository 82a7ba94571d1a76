"""Every sharded collection lists the same items while it grows, shrinks and is rebalanced."""

import asyncio
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.domains.counters.sharded_counter import CounterRepository
from keyfence.domains.groups.access_patterns import memberships
from keyfence.domains.products.model import view_counter_name
from keyfence.errors import BadInput, Conflict
from keyfence.jobs.job_repository import LEASE_DURATION
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.settings import TENANT_CACHE_SECONDS, TENANT_USE_SECONDS
from keyfence.store.shards import MoveDirection, ShardCounts, shard_of
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, put
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.stack import ServiceStack
from tests.system.field_costs.large_tenant import LargeTenant
from tests.system.field_costs.measurement import fill
from tests.system.jobs.reshard_run import QUERIES, SETTLE, ReshardRun, items_by_shard, items_of, listed

SMALL, LARGE = 3, 40
COLLECTIONS = load_domains().entities.collections
ENTITIES = load_domains().entities.tenant_entities_by_type
BOTH_TIERS = ("customers", "counters")
"""One collection whose index has the shards, and one that is a sum."""


@dataclass(slots=True)
class SampleTenant:
    """A tenant that has items of every kind, and a tenant with a similar id, whose items must stay unchanged."""

    stack: ServiceStack
    large_tenant: LargeTenant
    tenant: TenantId
    neighbour: TenantId
    resharder: ReshardRun
    before: list[Any] = field(default_factory=list)

    async def table(self) -> Table:
        return await self.resharder.table(self.stack, self.tenant)

    async def seen(self, collection: str, first: int = 100) -> list[Any]:
        return await listed(await self.table(), self.large_tenant, collection, first)

    async def add(self, collection: str) -> None:
        """Adds an item as a server does that knows the current shard counts."""
        table = await self.table()
        if collection == "counters":
            name = view_counter_name(self.large_tenant.products[0].id)
            await asyncio.gather(*(CounterRepository(table).add(name, ActivityNote("thing.seen")) for _ in range(10)))
            return
        entity = QUERIES[collection].entity
        fresh = [model for one, model in LargeTenant.with_size(6).stored_models() if one is entity]
        if entity is memberships:
            fresh = [replace(model, group_id=self.large_tenant.groups[0].id) for model in fresh]
        await asyncio.gather(*(table.write(put(entity, model)) for model in fresh[:12]))

    def slots(self, collection: str) -> dict[int, int]:
        return items_by_shard(items_of(self.stack, self.tenant), collection, ENTITIES)


@pytest.fixture(scope="module")
def sample_tenants(stack: ServiceStack) -> dict[int, SampleTenant]:
    """Sample tenants by size. All tests share them, since a reshard of one collection does not change another."""
    return {}


async def get_sample_tenant(
    stack: ServiceStack, migrator: MigratorAccess, sample_tenants: dict[int, SampleTenant], size: int
) -> SampleTenant:
    if size not in sample_tenants:
        large_tenant, resharder = LargeTenant.with_size(size), ReshardRun(migrator=migrator)
        tenant, neighbour = await stack.new_tenant(f"acme{size}"), await stack.new_tenant(f"acme{size}corp")
        for one in (tenant, neighbour):
            await fill(stack, one, large_tenant)
        sample_tenants[size] = SampleTenant(
            stack, large_tenant, tenant, neighbour, resharder, items_of(stack, neighbour)
        )
    return sample_tenants[size]


def test_every_sharded_collection_has_a_list_or_a_sum() -> None:
    assert {*QUERIES, "counters"} == set(COLLECTIONS.shardings)


@pytest.mark.one_engine
@pytest.mark.parametrize(
    "collection",
    tier.cases(COLLECTIONS.shardings, default=BOTH_TIERS, reason="every collection"),
)
async def test_a_collection_lists_the_same_items_before_during_and_after_a_reshard(
    stack: ServiceStack, migrator: MigratorAccess, sample_tenants: dict[int, SampleTenant], collection: str
) -> None:
    one = await get_sample_tenant(stack, migrator, sample_tenants, SMALL)
    for shards, rebalance in ((8, False), (8, True), (3, False)):
        await _changed(one, collection, shards, rebalance=rebalance)
    assert items_of(stack, one.neighbour) == one.before


@pytest.mark.full("large collections")
@pytest.mark.one_engine
@pytest.mark.parametrize("collection", ["orders_by_region", "activity"])
async def test_a_large_collection_lists_the_same_items_after_many_reshards(
    stack: ServiceStack, migrator: MigratorAccess, sample_tenants: dict[int, SampleTenant], collection: str
) -> None:
    one = await get_sample_tenant(stack, migrator, sample_tenants, LARGE)
    for shards, rebalance in ((4, False), (32, False), (5, False), (5, True), (7, False), (1, False)):
        await _changed(one, collection, shards, rebalance=rebalance)
    assert items_of(stack, one.neighbour) == one.before


async def _changed(one: SampleTenant, collection: str, shards: int, *, rebalance: bool) -> None:
    """Changes the number of shards. Writes and lists items with all shard counts that occur meanwhile."""
    resharder, tenant = one.resharder, one.tenant
    page = 80 if len(one.large_tenant.customers) == SMALL else 400
    job = await resharder.begin(tenant, collection, shards, rebalance=rebalance)
    await one.add(collection)
    whole = await one.seen(collection)
    assert not whole or isinstance(whole[0], int) or len({*map(repr, whole)}) == len(whole)
    for first in (100, 17):
        job = await resharder.run_pages(job, page=page)
        assert await one.seen(collection, first) == whole
    job = await resharder.run(job)
    assert job.phase == "FINISHED"
    counts = await resharder.counts(tenant, collection)
    assert (counts.read_shards, counts.write_shards, counts.move_direction, counts.job_id) == (
        shards,
        shards,
        None,
        None,
    )
    assert await one.seen(collection) == whole
    assert max(one.slots(collection)) < shards, "an item lies where nobody looks"
    if rebalance:
        assert counts.former_write_shards == ()
        assert collection == "counters" or len(one.slots(collection)) > 1
    await one.add(collection)


@pytest.mark.one_engine
async def test_after_a_rebalance_every_item_is_in_the_shard_of_its_id(
    stack: ServiceStack, migrator: MigratorAccess, sample_tenants: dict[int, SampleTenant]
) -> None:
    one = await get_sample_tenant(stack, migrator, sample_tenants, SMALL)
    before = one.slots("stores")
    await one.resharder.reshard(one.tenant, "stores", 16)
    assert one.slots("stores") == before, "growing moves nothing"
    own = [item for item in items_of(stack, one.tenant) if item["type"]["S"] == "Store"]
    moved = sum(shard_of(item["id"]["S"], 16) != int(item["GSI3PK"]["S"][-2:], 16) for item in own)
    job = await one.resharder.reshard(one.tenant, "stores", 16, rebalance=True)
    own = [item for item in items_of(stack, one.tenant) if item["type"]["S"] == "Store"]
    assert [int(item["GSI3PK"]["S"][-2:], 16) for item in own] == [shard_of(item["id"]["S"], 16) for item in own]
    assert (job.items_changed, job.items_total) == (moved, moved)
    assert moved


@pytest.mark.parametrize(
    ("collection", "shards", "words"),
    [
        ("Users", 2, "collection must be one of"),
        ("users", 0, "users can have 1 to 256 shards"),
        ("users", 257, "users can have 1 to 256 shards"),
        ("counters", 101, "counters can have 1 to 100 shards"),
    ],
)
async def test_an_invalid_reshard_is_refused_and_writes_nothing(
    stack: ServiceStack, tenant: TenantId, migrator: MigratorAccess, collection: str, shards: int, words: str
) -> None:
    resharder = ReshardRun(migrator=migrator)
    before = await resharder.tenants.get(tenant)
    with pytest.raises(BadInput, match=words) as refused:
        await resharder.begin(tenant, collection, shards)
    assert refused.value.code == "BAD_USER_INPUT"
    assert await resharder.tenants.get(tenant) == before


async def test_a_rebalance_with_another_number_of_shards_is_refused(tenant: TenantId, migrator: MigratorAccess) -> None:
    with pytest.raises(BadInput, match="shards must be 1: a rebalance does not change their number"):
        await ReshardRun(migrator=migrator).begin(tenant, "users", 2, rebalance=True)


@pytest.mark.parametrize("status", [TenantStatus.OFFBOARDING, TenantStatus.PROVISIONING])
async def test_the_shards_of_a_tenant_that_is_onboarding_or_offboarding_cannot_be_changed(
    tenant: TenantId, migrator: MigratorAccess, status: TenantStatus
) -> None:
    resharder = ReshardRun(migrator=migrator)
    await resharder.tenants.change(
        tenant, TenantEventKind.SUSPENDED, lambda one: replace(one, status=status), detail={}
    )
    with pytest.raises(Conflict, match=f"the tenant is {status}") as refused:
        await resharder.begin(tenant, "users", 4)
    assert refused.value.code == "CONFLICT"
    assert await resharder.counts(tenant, "users") == ShardCounts()


async def test_a_collection_has_one_reshard_at_a_time_and_the_same_request_resumes_it(
    tenant: TenantId, migrator: MigratorAccess
) -> None:
    resharder = ReshardRun(migrator=migrator)
    job = await resharder.begin(tenant, "users", 4)
    for shards, rebalance in ((8, False), (1, False), (1, True)):
        with pytest.raises(Conflict, match=f"keyfence job resume {job.id}") as refused:
            await resharder.begin(tenant, "users", shards, rebalance=rebalance)
        assert refused.value.extensions["job"] == job.id
    assert await resharder.begin(tenant, "users", 4) == job
    other = await resharder.begin(tenant, "customers", 2)
    assert [(await resharder.run(one)).phase for one in (job, other)] == ["FINISHED", "FINISHED"]
    assert await resharder.counts(tenant, "users") == ShardCounts(
        read_shards=4, write_shards=4, generation=2, former_write_shards=(1,)
    )


async def test_a_request_for_the_current_number_of_shards_changes_nothing(
    tenant: TenantId, migrator: MigratorAccess
) -> None:
    resharder = ReshardRun(migrator=migrator)
    await resharder.reshard(tenant, "users", 4)
    before, asked = await resharder.tenants.get(tenant), list[Any]()
    await StartReshard(resharder.tenants, COLLECTIONS, run_in_background=asked.append)(tenant, "users", 4)
    assert (await resharder.tenants.get(tenant), asked) == (before, [])


async def test_concurrent_requests_start_one_reshard(tenant: TenantId, migrator: MigratorAccess) -> None:
    resharder = ReshardRun(migrator=migrator)
    requests = [resharder.begin(tenant, "users", shards) for shards in (2, 4, 8)]
    outcomes = await asyncio.gather(*requests, return_exceptions=True)
    assert sorted(type(one).__name__ for one in outcomes) == ["Conflict", "Conflict", "Job"]


async def test_the_start_and_the_end_of_each_reshard_are_events(tenant: TenantId, migrator: MigratorAccess) -> None:
    resharder = ReshardRun(migrator=migrator)
    for shards, rebalance in ((4, False), (4, True), (2, False)):
        await resharder.reshard(tenant, "users", shards, rebalance=rebalance)
        await resharder.time.sleep(1)
    page = await resharder.tenants.events(tenant, first=10, after=None)
    kinds = ["growing", "grown", "rebalancing", "rebalanced", "shrinking", "shrunk"]
    assert {one.kind for one in page.items} == {"tenant.added", *(f"shards.{kind}" for kind in kinds)}


async def test_a_worker_that_takes_over_waits_for_the_whole_settle_time_again(
    tenant: TenantId, migrator: MigratorAccess
) -> None:
    """The second worker cannot know when the first one stopped, nor trust its clock."""
    first, second = ReshardRun(migrator=migrator), ReshardRun(migrator=migrator)
    job = await first.begin(tenant, "users", 4)
    await first.run(job, should_stop=lambda: sum(first.time.slept) >= SETTLE - 5)
    assert (await second.run(job)).phase == "FINISHED"
    assert SETTLE - 5 <= sum(first.time.slept) < SETTLE
    assert sum(second.time.slept) == SETTLE


async def test_no_item_moves_and_no_count_is_published_before_the_settle_time_is_over(
    tenant: TenantId, migrator: MigratorAccess
) -> None:
    resharder = ReshardRun(migrator=migrator)
    for shards, moving in ((4, None), (2, MoveDirection.DOWN)):
        job = await resharder.begin(tenant, "users", shards)
        begun = await resharder.counts(tenant, "users")
        assert begun.move_direction is moving
        early = await resharder.run(job, should_stop=lambda: sum(resharder.time.slept) >= SETTLE - 5)
        assert (early.phase, await resharder.counts(tenant, "users")) == ("SETTLING", begun)
        assert (await resharder.run(job)).phase == "FINISHED"
        resharder.time.slept.clear()


@pytest.mark.one_engine
async def test_a_reshard_may_take_longer_than_a_cached_tenant_is_valid(
    stack: ServiceStack, migrator: MigratorAccess, sample_tenants: dict[int, SampleTenant]
) -> None:
    """The location of a job does not expire, and its lease is renewed."""
    one, ticks = (
        await get_sample_tenant(stack, migrator, sample_tenants, SMALL),
        count(step=LEASE_DURATION.total_seconds() / 200),
    )
    slow = ReshardRun(migrator=replace(migrator, tables=replace(migrator.tables, clock=lambda: next(ticks))))
    await slow.reshard(one.tenant, "group_members", 16)
    job = await slow.reshard(one.tenant, "group_members", 16, rebalance=True)
    assert (job.phase, job.items_changed > 3) == ("FINISHED", True)
    assert next(ticks) > TENANT_USE_SECONDS + TENANT_CACHE_SECONDS
