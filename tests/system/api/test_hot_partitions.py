"""Operators can list hot partitions, and tenants cannot."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from keyfence.app.composition_root import Service
from keyfence.app.local_development import aws_access
from keyfence.hot_partitions.fleet_traffic import FleetTraffic
from keyfence.hot_partitions.hot_partition_finder import HotPartitionReport
from keyfence.hot_partitions.partition_load import PartitionLoad, TenantPartition, step_number
from keyfence.store.shards import ShardCounts
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficCounts
from keyfence_iam.tenant import TenantId
from tests.fakes.fences import tenant_fence
from tests.stack import ApiClient, ServiceStack

HOT_PARTITIONS = """query($first: Int = 20) { hotPartitions(first: $first) {
  tenant collection table index partition readUnitsPerSecond writeUnitsPerSecond throttled recommendedShards } }"""
USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "a@x.example", name: "N"}) { id } }'
MAX_POLLS = 1_500
"""Polls of 0.02 s: the test waits up to 30 s."""


def partition_load(
    partition: TenantPartition, collection: str, *, read: float = 0.0, write: float = 0.0, throttled: int = 0
) -> PartitionLoad:
    return PartitionLoad(
        partition,
        collection,
        {step_number(time.time()): TrafficCounts(read * STEP_SECONDS, write * STEP_SECONDS, 1, throttled)},
    )


@pytest.fixture
async def fleet(stack: ServiceStack) -> AsyncIterator[FleetTraffic]:
    """The published traffic of all servers. Deletes the reports of the test at its end."""
    traffic = FleetTraffic(stack.tables.for_control_plane(may_write=True))
    yield traffic
    for server in ("one", "other"):
        await traffic.delete(server)


async def hot_partitions(stack: ServiceStack, **variables: Any) -> list[dict[str, Any]]:
    partitions: list[dict[str, Any]] = (await stack.operator_client().data(HOT_PARTITIONS, **variables))[
        "hotPartitions"
    ]
    return partitions


async def test_the_hottest_partitions_come_first_then_those_with_more_throttled_calls(
    stack: ServiceStack, tenant: TenantId, fleet: FleetTraffic
) -> None:
    collection_partition = TenantPartition(tenant, "GSI2", f"TENANT#{tenant}#OPEN", "keyfence")
    shard_partitions = [
        collection_partition._replace(key=f"{collection_partition.key}#{shard}") for shard in ("00", "01")
    ]
    product = TenantPartition(tenant, "table", f"TENANT#{tenant}#PRODUCT#prd_1")
    await fleet.put(
        "one",
        HotPartitionReport(
            (partition_load(shard_partitions[0], "open_orders", write=500.0),),
            (partition_load(collection_partition, "open_orders", write=500.0),),
        ),
    )
    partitions = (
        partition_load(shard_partitions[0], "open_orders", write=450.0, throttled=3),
        partition_load(shard_partitions[1], "open_orders", write=950.0, throttled=7),
        partition_load(product, "", read=3_300.0),
    )
    await fleet.put(
        "other", HotPartitionReport(partitions, (partition_load(collection_partition, "open_orders", write=1_400.0),))
    )
    product_row, second, first = await hot_partitions(stack)
    assert first == {
        "tenant": tenant,
        "collection": "open_orders",
        "table": "keyfence",
        "index": "GSI2",
        "partition": shard_partitions[0].key,
        "readUnitsPerSecond": 0.0,
        "writeUnitsPerSecond": 950.0,
        "throttled": 3,
        "recommendedShards": 2,
    }
    assert (second["partition"], second["throttled"], second["recommendedShards"]) == (shard_partitions[1].key, 7, 2)
    assert (product_row["collection"], product_row["readUnitsPerSecond"]) == ("", 3_300.0)
    assert product_row["recommendedShards"] == 1
    assert await hot_partitions(stack, first=1) == [product_row]
    assert await hot_partitions(stack, first=None) == [product_row, second, first]


async def test_the_recommendation_is_never_below_the_current_number_of_shards(
    stack: ServiceStack, tenant: TenantId, fleet: FleetTraffic
) -> None:
    counts = {"open_orders": ShardCounts(read_shards=16, write_shards=16)}
    tenants = TenantRepository(stack.tables.for_control_plane(may_write=True), "the-tests")
    await tenants.change(tenant, TenantEventKind.SHARDS_GROWN, lambda tenant: replace(tenant, shards=counts), detail={})
    partition = TenantPartition(tenant, "GSI2", f"TENANT#{tenant}#OPEN#00")
    collection_partition = partition._replace(key=f"TENANT#{tenant}#OPEN")
    await fleet.put(
        "one",
        HotPartitionReport(
            (partition_load(partition, "open_orders", write=900.0),),
            (partition_load(collection_partition, "open_orders", write=900.0),),
        ),
    )
    (row,) = await hot_partitions(stack)
    assert row["recommendedShards"] == 16


async def test_old_traffic_and_partitions_that_are_not_hot_are_not_listed(
    stack: ServiceStack, tenant: TenantId, fleet: FleetTraffic
) -> None:
    partition = TenantPartition(tenant, "table", f"TENANT#{tenant}#PRODUCT#prd_1")
    old = PartitionLoad(partition, "", {step_number(time.time()) - 6: TrafficCounts(write_units=9_000.0)})
    await fleet.put("one", HotPartitionReport((old, partition_load(partition, "", write=99.0)), ()))
    assert await hot_partitions(stack) == []


@pytest.mark.parametrize("first", [0, 101])
async def test_the_list_has_at_most_a_page(stack: ServiceStack, first: int) -> None:
    assert await stack.operator_client().error_code(HOT_PARTITIONS, first=first) == "BAD_USER_INPUT"


async def test_a_tenants_token_cannot_read_hot_partitions(stack: ServiceStack, owner: ApiClient) -> None:
    assert await replace(owner, path="/admin/graphql").error_code(HOT_PARTITIONS) == "UNAUTHENTICATED"


async def test_a_server_publishes_its_traffic_while_it_runs_and_deletes_it_when_it_stops(
    stack: ServiceStack, owner: ApiClient
) -> None:
    """With 1,000 servers, a partition is hot if this server sends it one or two units a second."""
    settings = stack.settings.model_copy(update={"traffic_seconds": 0.02, "servers": 1_000})
    server = Service(aws_access(settings, stack.gate.session_issuer).connect()).app
    fleet = FleetTraffic(stack.tables.for_control_plane(may_write=False))

    async def published_partitions() -> set[str]:
        return {
            load.partition.key for load in (await fleet.report()).partitions if load.partition.tenant == owner.tenant
        }

    list_partition = f"{tenant_fence(owner.tenant).index_prefix}USERS#00"
    async with server.router.lifespan_context(server):
        await replace(owner, application=server).data(CREATE)
        await replace(owner, application=server).data(USERS)
        for _ in range(MAX_POLLS):
            if list_partition in await published_partitions():
                break
            await asyncio.sleep(0.02)
        assert list_partition in await published_partitions()
    assert await published_partitions() == set()
