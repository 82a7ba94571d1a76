"""What servers tell each other; the operators' list of hot partitions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keyfence.hot_partitions.hottest import WARM, HotPartitionReport
from keyfence.hot_partitions.partition_load import (
    Partition,
    PartitionLoad,
    from_json,
    step_of,
    sum_by_partition,
    to_json,
)
from keyfence.hot_partitions.recommendation import ShardNeed, needs
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.store.pagination import check_page_size
from keyfence.store.shards import ONE_SHARD, ShardedCollections
from keyfence.store.table import Table
from keyfence.tenancy.access_patterns import tenant_by_id
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.dynamodb.traffic_window import STEPS_PER_WINDOW
from keyfence_iam.tenant import TenantId

KEPT = timedelta(minutes=10)
"""How long after its last word a server's item stays; nobody reads it for longer than a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTraffic:
    """The hottest partitions of one server as JSON text; it is put again while any are hot."""

    server: str
    partitions: str
    lists: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardAdvice:
    """That a collection should have more slots, and what was made of it.

    `since` is when it began to be true without a break, `updated_at` when it was last seen to be."""

    tenant: TenantId
    collection: str
    shards: int
    since: datetime
    advised_at: datetime
    ttl: int
    created_at: datetime
    updated_at: datetime
    grown_at: datetime | None = None
    version: int = 1


server_traffic = entity(ServerTraffic, table=ControlKey("TRAFFIC", "SERVER#{server}"))
advice = entity(ShardAdvice, table=ControlKey("ADVICE#{tenant}", "COLLECTION#{collection}"))

traffic_of_servers = server_traffic.query("table", begins_with="SERVER#")
traffic_of_server = server_traffic.get()
advice_for_collection = advice.get()


@dataclass(frozen=True, slots=True)
class FleetTraffic:
    """Written and read by the control plane; no tenant reaches it."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def put(self, server: str, hot: HotPartitionReport) -> None:
        now = self.now()
        kept = ServerTraffic(
            server=server,
            partitions=to_json(hot.partitions),
            lists=to_json(hot.lists),
            ttl=int((now + KEPT).timestamp()),
            created_at=now,
            updated_at=now,
        )
        await self.table.put_many(server_traffic, [kept])

    async def forget(self, server: str) -> None:
        await self.table.delete_many(traffic_of_server, [{"server": server}])

    async def hot(self) -> HotPartitionReport:
        """Of the last minute: what a server that is gone or quiet has said before drops out."""
        oldest = step_of(self.now().timestamp()) - STEPS_PER_WINDOW + 1
        partitions: list[PartitionLoad] = []
        lists: list[PartitionLoad] = []
        async for one in self.table.iterate_shards(traffic_of_servers):
            partitions += _recent(one.partitions, oldest)
            lists += _recent(one.lists, oldest)
        return HotPartitionReport(sum_by_partition(partitions), sum_by_partition(lists))


def _recent(text: str, oldest: int) -> list[PartitionLoad]:
    recent = (spot.since(oldest) for spot in from_json(text))
    return [spot for spot in recent if spot.steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotPartition:
    """A partition, what is asked of it, and how many slots its collection should have: one, where it has none."""

    spot: PartitionLoad
    recommended_shards: int


@dataclass(frozen=True, slots=True)
class HotPartitions:
    """Read for every question: nobody keeps it."""

    table: Table
    fleet: FleetTraffic
    collections: ShardedCollections

    async def hottest(self, *, first: int) -> list[HotPartition]:
        """By the share of its limit that each uses, and of equals those first that turned more away."""
        check_page_size(first)
        hot = await self.fleet.hot()
        spots = sorted(filter(_is_hot, hot.partitions), key=_rank)[:first]
        tenants, wanted = await self._tenants(spots), _needs(hot, self.collections)
        return [HotPartition(spot=spot, recommended_shards=_shards(spot, tenants, wanted)) for spot in spots]

    async def _tenants(self, spots: list[PartitionLoad]) -> Mapping[TenantId, Tenant]:
        sharded = sorted({spot.place.tenant for spot in spots if spot.collection})
        found = await self.table.find_many(tenant_by_id, [{"id": tenant} for tenant in sharded]) if sharded else []
        return {tenant.id: tenant for tenant in found if tenant}


def _is_hot(spot: PartitionLoad) -> bool:
    return spot.share >= WARM or spot.throttled > 0


def _rank(spot: PartitionLoad) -> tuple[float, int, Partition]:
    return -spot.share, -spot.throttled, spot.place


def _needs(hot: HotPartitionReport, collections: ShardedCollections) -> Mapping[tuple[TenantId, str], ShardNeed]:
    return {(one.tenant, one.collection): one for one in needs(hot.lists, collections)}


def _shards(
    spot: PartitionLoad, tenants: Mapping[TenantId, Tenant], wanted: Mapping[tuple[TenantId, str], ShardNeed]
) -> int:
    tenant, need = tenants.get(spot.place.tenant), wanted.get((spot.place.tenant, spot.collection))
    current = tenant.shards.get(spot.collection, ONE_SHARD).read_shards if tenant else 1
    return need.least(current) if need else current
