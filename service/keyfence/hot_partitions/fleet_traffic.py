"""`FleetTraffic`: hot partitions that the servers publish to each other. `HotPartitions`: the list for operators."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keyfence.hot_partitions.hot_partition_finder import WARM, HotPartitionReport
from keyfence.hot_partitions.partition_load import (
    PartitionLoad,
    TenantPartition,
    from_json,
    step_of,
    sum_by_partition,
    to_json,
)
from keyfence.hot_partitions.shard_recommendation import ShardNeed, shard_needs
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

TTL = timedelta(minutes=10)
"""DynamoDB deletes the item of a server that ended without deleting it. Readers ignore data older than a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTraffic:
    """The hottest partitions and sharded lists of one server, as JSON. The server replaces it while any are hot."""

    server: str
    partitions: str
    lists: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1


server_traffic = entity(ServerTraffic, table=ControlKey("TRAFFIC", "SERVER#{server}"))

traffic_of_servers = server_traffic.query("table", begins_with="SERVER#")
traffic_of_server = server_traffic.get()


@dataclass(frozen=True, slots=True)
class FleetTraffic:
    """Hot partitions of all servers, as the control plane writes and reads them."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def put(self, server: str, report: HotPartitionReport) -> None:
        now = self.now()
        item = ServerTraffic(
            server=server,
            partitions=to_json(report.partitions),
            lists=to_json(report.lists),
            ttl=int((now + TTL).timestamp()),
            created_at=now,
            updated_at=now,
        )
        await self.table.put_many(server_traffic, [item])

    async def delete(self, server: str) -> None:
        await self.table.delete_many(traffic_of_server, [{"server": server}])

    async def report(self) -> HotPartitionReport:
        """Return the sums over all servers in the last minute."""
        oldest = step_of(self.now().timestamp()) - STEPS_PER_WINDOW + 1
        partitions: list[PartitionLoad] = []
        lists: list[PartitionLoad] = []
        async for traffic in self.table.iterate_shards(traffic_of_servers):
            partitions += _recent(traffic.partitions, oldest)
            lists += _recent(traffic.lists, oldest)
        return HotPartitionReport(sum_by_partition(partitions), sum_by_partition(lists))


def _recent(text: str, oldest: int) -> list[PartitionLoad]:
    recent = (load.since(oldest) for load in from_json(text))
    return [load for load in recent if load.steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotPartition:
    """A hot partition, and how many shards its collection should have. Without a collection that is 1."""

    load: PartitionLoad
    recommended_shards: int


@dataclass(frozen=True, slots=True)
class HotPartitions:
    """The hot partitions as operators see them."""

    table: Table
    fleet: FleetTraffic
    collections: ShardedCollections

    async def hottest(self, *, first: int) -> list[HotPartition]:
        """Return the partitions with the highest share of their limit, then those with the most throttled calls."""
        check_page_size(first)
        report = await self.fleet.report()
        loads = sorted(filter(_is_hot, report.partitions), key=_rank)[:first]
        tenants = await self._tenants(loads)
        needs = {(need.tenant, need.collection): need for need in shard_needs(report.lists, self.collections)}
        return [HotPartition(load=load, recommended_shards=_shards(load, tenants, needs)) for load in loads]

    async def _tenants(self, loads: list[PartitionLoad]) -> Mapping[TenantId, Tenant]:
        ids = sorted({load.partition.tenant for load in loads if load.collection})
        found = await self.table.find_many(tenant_by_id, [{"id": id} for id in ids]) if ids else []
        return {tenant.id: tenant for tenant in found if tenant}


def _is_hot(load: PartitionLoad) -> bool:
    return load.share >= WARM or load.throttled > 0


def _rank(load: PartitionLoad) -> tuple[float, int, TenantPartition]:
    return -load.share, -load.throttled, load.partition


def _shards(
    load: PartitionLoad, tenants: Mapping[TenantId, Tenant], needs: Mapping[tuple[TenantId, str], ShardNeed]
) -> int:
    tenant, need = tenants.get(load.partition.tenant), needs.get((load.partition.tenant, load.collection))
    current = tenant.shards.get(load.collection, ONE_SHARD).read_shards if tenant else 1
    return need.minimum(current) if need else current
