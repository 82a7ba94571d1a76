"""Hot partitions are found in real traffic behind the gate: units, throttles and the recommended shards."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.domains.stores.access_patterns import stores
from keyfence.domains.stores.model import Store, StoreId
from keyfence.errors import Throttled
from keyfence.hot_partitions.fleet_traffic import FleetTraffic, HotPartition, HotPartitions
from keyfence.hot_partitions.hot_partition_finder import CollectionMatcher, HotPartitionFinder
from keyfence.hot_partitions.partition_load import WINDOW_SECONDS
from keyfence.hot_partitions.shard_autopilot import AUTOPILOT_AUTHOR, Autopilot
from keyfence.hot_partitions.traffic_observer import TrafficObserver
from keyfence.hot_partitions.traffic_publisher import TrafficPublisher
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.access_patterns import events_of_tenant
from keyfence.tenancy.repository import TenantRepository
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficWindow
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine

MATCHER = CollectionMatcher.from_entities(load_domains().entities)
COLLECTIONS = load_domains().entities.collections
START = datetime(2026, 11, 16, 12, tzinfo=UTC)
UNITS = 59
"""Write units of a store whose name has 60,000 letters, in the table and in the index that projects the name."""


_hours = itertools.count()


@dataclass
class Server:
    """The parts of a server that deal with hot partitions."""

    stack: ServiceStack
    clock: ManualClock
    observer: TrafficObserver = field(init=False)
    publisher: TrafficPublisher = field(init=False)

    def __post_init__(self) -> None:
        self.observer = TrafficObserver(TrafficWindow(self.clock))
        control = self.stack.tables.for_control_plane(may_write=True)
        tenants = TenantRepository(control, AUTOPILOT_AUTHOR, self.clock.datetime)
        fleet = FleetTraffic(control, self.clock.datetime)
        autopilot = Autopilot(tenants=tenants, collections=COLLECTIONS, now=self.clock.datetime)
        self.publisher = TrafficPublisher(HotPartitionFinder(self.observer.window, MATCHER), fleet, autopilot)

    def table(self, tenant: TenantId, shards: ShardMap = UNSHARDED) -> Table:
        tables = replace(self.stack.tables, observer=self.observer)
        made = tables.for_tenant(TenantLocation(tenant=tenant, shards=shards), may_write=True)
        return replace(made, caller=replace(made.caller, retry_policy=RetryPolicy(attempts=2, first_pause_seconds=0.0)))

    async def create_stores(self, tenant: TenantId, count: int, shards: ShardMap = UNSHARDED) -> None:
        table = self.table(tenant, shards)
        for start in range(0, count, 25):
            with contextlib.suppress(Throttled):
                await table.put_many(stores, some_stores(range(start, min(count, start + 25))))

    async def publish(self) -> None:
        await self.publisher.publish()


def some_stores(numbers: Sequence[int]) -> list[Store]:
    return [
        Store(
            id=StoreId(f"str_{number:05d}"),
            name="n" * 60_000,
            latitude=Decimal(0),
            longitude=Decimal(0),
            geohash="s00000000",
            created_at=START,
            updated_at=START,
        )
        for number in numbers
    ]


@pytest.fixture
def clock() -> ManualClock:
    """A clock that starts long after the traffic of other tests."""
    return ManualClock(START.timestamp() + 3600 * next(_hours))


@pytest.fixture
def limits(stack: ServiceStack, clock: ManualClock) -> Iterator[PartitionLimits]:
    stack.gate.limits = PartitionLimits(now=clock)
    yield stack.gate.limits
    stack.gate.limits = None


@pytest.fixture
def server(stack: ServiceStack, clock: ManualClock, limits: PartitionLimits) -> Server:
    """A server behind partition limits: it depends on the fixture that sets them."""
    return Server(stack, clock)


async def hottest(stack: ServiceStack, clock: ManualClock, *tenants: TenantId, first: int = 100) -> list[HotPartition]:
    control = stack.tables.for_control_plane(may_write=False)
    found = await HotPartitions(control, FleetTraffic(control, clock.datetime), COLLECTIONS).hottest(first=first)
    return [one for one in found if one.load.partition.tenant in tenants]


def turned_away(limits: PartitionLimits, partition: str) -> int:
    """Returns how many requests for a partition the gate has throttled."""
    (found,) = (one for one in limits.traffic_report()["partitions"] if one["key"] == partition)
    return int(found["throttles"])


async def kinds(stack: ServiceStack, tenant: TenantId) -> list[str]:
    page = await stack.tables.for_control_plane(may_write=False).page(events_of_tenant, first=20, tenant=tenant)
    return [one.kind for one in page.items if one.kind.startswith("shards.")]


async def test_a_hot_collection_is_listed_with_its_units_throttles_and_shards_and_a_quiet_tenant_is_not(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, limits: PartitionLimits, server: Server
) -> None:
    neighbour = await stack.new_tenant(f"{tenant}1")
    await server.create_stores(neighbour, 5)
    await server.create_stores(tenant, 400)
    await server.publish()
    (hot,) = await hottest(stack, clock, tenant, neighbour)
    place = hot.load.partition
    assert (place.tenant, place.index_name) == (tenant, "GSI3")
    assert place.key == f"{tenant_fence(tenant).index_prefix}GEO#00"
    assert (hot.load.collection, hot.load.write_units_per_second, hot.load.read_units_per_second) == (
        "stores",
        400 * UNITS / STEP_SECONDS,
        0.0,
    )
    assert hot.load.throttled == turned_away(limits, place.key) > 300
    assert hot.recommended_shards == 3
    assert (await kinds(stack, tenant), await kinds(stack, neighbour)) == (["shards.recommended"], [])


async def test_the_shards_of_a_collection_are_added_up(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, server: Server
) -> None:
    await server.create_stores(tenant, 400, even_shards({"stores": 2}))
    await server.publish()
    one, other = await hottest(stack, clock, tenant)
    assert one.load.write_units_per_second + other.load.write_units_per_second == 400 * UNITS / STEP_SECONDS
    assert one.load.write_units_per_second < 0.6 * 400 * UNITS / STEP_SECONDS
    assert (one.recommended_shards, other.recommended_shards) == (3, 3)


async def test_the_loads_of_all_servers_are_added_up_except_those_of_a_server_that_became_quiet(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, server: Server
) -> None:
    other = Server(stack, clock)
    await server.create_stores(tenant, 100)
    await other.create_stores(tenant, 200)
    for one in (server, other, server):
        await one.publish()
    (hot,) = await hottest(stack, clock, tenant)
    assert (hot.load.write_units_per_second, hot.recommended_shards) == (300 * UNITS / STEP_SECONDS, 2)
    clock.now += WINDOW_SECONDS - STEP_SECONDS
    await other.create_stores(tenant, 50)
    await other.publish()
    (hot,) = await hottest(stack, clock, tenant)
    assert hot.load.write_units_per_second == 300 * UNITS / STEP_SECONDS, "the window still holds it"
    clock.now += STEP_SECONDS
    await server.publish()
    (hot,) = await hottest(stack, clock, tenant)
    assert hot.load.write_units_per_second == 50 * UNITS / STEP_SECONDS


async def test_the_autopilot_starts_a_reshard_within_the_limit_of_the_tier_when_the_traffic_stays_high(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, server: Server
) -> None:
    tenants = TenantRepository(stack.tables.for_control_plane(may_write=True), AUTOPILOT_AUTHOR, clock.datetime)
    server.publisher.autopilot = Autopilot(
        tenants=tenants,
        collections=COLLECTIONS,
        mode="on",
        start_growth=StartReshard(tenants, COLLECTIONS),
        now=clock.datetime,
    )
    for _ in range(0, WINDOW_SECONDS + STEP_SECONDS, STEP_SECONDS):
        assert (await tenants.get(tenant)).shards == {}
        await server.create_stores(tenant, 400)
        await server.publish()
        clock.now += STEP_SECONDS
    counts = (await tenants.get(tenant)).shards["stores"]
    assert (counts.read_shards, counts.write_shards) == (4, 1)
    assert counts.job_id is not None
    await server.publish()
    assert (await tenants.get(tenant)).shards["stores"] == counts


async def test_nothing_is_written_or_read_while_nothing_is_hot(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, server: Server
) -> None:
    await server.create_stores(tenant, 5)
    stack.take_calls()
    await server.publish()
    assert stack.take_calls() == []


async def test_a_server_deletes_what_it_published_when_it_stops(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, server: Server
) -> None:
    await server.create_stores(tenant, 50)
    await server.publish()
    assert len(await hottest(stack, clock, tenant)) == 1
    await server.publisher.stop()
    assert await hottest(stack, clock, tenant) == []


async def test_the_hottest_partitions_are_listed_in_order(
    stack: ServiceStack, tenant: TenantId, clock: ManualClock, server: Server
) -> None:
    neighbour = await stack.new_tenant(f"{tenant}1")
    await server.create_stores(tenant, 50)
    await server.create_stores(neighbour, 75)
    await server.publish()
    assert [one.load.partition.tenant for one in await hottest(stack, clock, tenant, neighbour)] == [neighbour, tenant]
    (first,) = await hottest(stack, clock, tenant, neighbour, first=1)
    assert first.load.partition.tenant == neighbour
