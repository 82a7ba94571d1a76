"""`FleetTraffic`: the hot partitions that servers publish for each other. `HotPartitions`: the list for operators."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from keyfence.hot_partitions.hot_partition_finder import MIN_REPORTED_SHARE, HotPartitionReport
from keyfence.hot_partitions.partition_load import (
    PartitionLoad,
    TenantPartition,
    from_json,
    step_number,
    sum_by_partition,
    to_json,
)
from keyfence.hot_partitions.shard_recommendation import CollectionPeak, collection_peaks
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.store.pagination import checked_page_size
from keyfence.store.shards import ONE_SHARD, ShardedCollections
from keyfence.store.table import Table
from keyfence.tenancy.access_patterns import tenant_by_id
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.dynamodb.traffic_window import STEPS_PER_WINDOW
from keyfence_iam.tenant import TenantId

TTL = timedelta(minutes=10)
"""The age at which DynamoDB deletes the item of a server that crashed. Readers ignore an item after a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTraffic:
    """The hottest partitions and sharded lists of one server.

    The server replaces the item again and again while it has hot partitions."""

    server: str
    partitions: str
    """JSON, see `partition_load.to_json`."""
    lists: str
    """JSON, see `partition_load.to_json`."""
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1


server_traffic = entity(ServerTraffic, table=ControlKey("TRAFFIC", "SERVER#{server}"))

traffic_of_servers = server_traffic.query("table", begins_with="SERVER#")
traffic_of_server = server_traffic.get()


@dataclass(frozen=True, slots=True)
class FleetTraffic:
    """Stores the hot partitions of each server, and adds them up over all servers."""

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
        """Returns the sums over all servers in the last minute."""
        oldest_step = step_number(self.now().timestamp()) - STEPS_PER_WINDOW + 1
        partitions: list[PartitionLoad] = []
        lists: list[PartitionLoad] = []
        async for traffic in self.table.iterate_shards(traffic_of_servers):
            partitions += _recent(traffic.partitions, oldest_step)
            lists += _recent(traffic.lists, oldest_step)
        return HotPartitionReport(sum_by_partition(partitions), sum_by_partition(lists))


def _recent(text: str, oldest_step: int) -> list[PartitionLoad]:
    """Returns the loads of a stored text without old steps, and without loads that have only old steps."""
    loads = (load.without_steps_before(oldest_step) for load in from_json(text))
    return [load for load in loads if load.steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotPartition:
    """A hot partition, and how many shards its collection should have: 1 if it belongs to no sharded collection."""

    load: PartitionLoad
    recommended_shards: int


@dataclass(frozen=True, slots=True)
class HotPartitions:
    """The hot partitions as operators see them."""

    table: Table
    fleet: FleetTraffic
    collections: ShardedCollections

    async def hottest(self, *, first: int) -> list[HotPartition]:
        """Returns the partitions with the highest share of their limit. Equal ones are ordered by throttled calls."""
        checked_page_size(first)
        report = await self.fleet.report()
        loads = sorted(filter(_is_hot, report.partitions), key=_order)[:first]
        tenants = await self._tenants(loads)
        peaks = {(peak.tenant, peak.collection): peak for peak in collection_peaks(report.lists, self.collections)}
        return [HotPartition(load=load, recommended_shards=_min_shards(load, tenants, peaks)) for load in loads]

    async def _tenants(self, loads: list[PartitionLoad]) -> Mapping[TenantId, Tenant]:
        ids = sorted({load.partition.tenant for load in loads if load.collection})
        tenants = await self.table.find_many(tenant_by_id, [{"id": id} for id in ids]) if ids else []
        return {tenant.id: tenant for tenant in tenants if tenant}


def _is_hot(load: PartitionLoad) -> bool:
    return load.limit_share >= MIN_REPORTED_SHARE or load.throttled > 0


def _order(load: PartitionLoad) -> tuple[float, int, TenantPartition]:
    return -load.limit_share, -load.throttled, load.partition


def _min_shards(
    load: PartitionLoad, tenants: Mapping[TenantId, Tenant], peaks: Mapping[tuple[TenantId, str], CollectionPeak]
) -> int:
    """Returns the fewest shards for the partition's collection. Without a peak it is the current number."""
    tenant, peak = tenants.get(load.partition.tenant), peaks.get((load.partition.tenant, load.collection))
    current = tenant.shards.get(load.collection, ONE_SHARD).read_shards if tenant else 1
    return peak.min_shards(current) if peak else current
