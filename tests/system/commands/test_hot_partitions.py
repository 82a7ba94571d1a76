"""keyfence hot prints the hottest partitions, through a local gate."""

import asyncio
import json
import time

import pytest

from keyfence.hot_partitions.fleet_traffic import FleetTraffic
from keyfence.hot_partitions.hot_partition_finder import HotPartitionReport
from keyfence.hot_partitions.partition_load import PartitionLoad, TenantPartition, step_number
from keyfence_iam.dynamodb.traffic_window import TrafficCounts
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack
from tests.system.commands.command_runner import run

pytestmark = [pytest.mark.usefixtures("terminal"), pytest.mark.one_engine]
ACME = TenantId("acme")


def hot(*arguments: str) -> tuple[int, str, str]:
    return run("hot", *arguments)


def test_hot_partitions_are_printed_as_a_table_and_as_json(stack: ServiceStack) -> None:
    assert hot() == (0, "", "No server reported a hot partition in the last minute.\n")
    assert json.loads(hot("--json")[1]) == {"hotPartitions": []}
    step = step_number(time.time())
    shard = PartitionLoad(
        TenantPartition(ACME, "GSI2", "TENANT#acme#OPEN#00"),
        "open_orders",
        {step: TrafficCounts(500.0, 21_000.0, 1_000, 12)},
    )
    collection_total = PartitionLoad(TenantPartition(ACME, "GSI2", "TENANT#acme#OPEN"), "open_orders", shard.steps)
    unsharded = PartitionLoad(
        TenantPartition(ACME, "table", "TENANT#acme#PRODUCT#[red]"), "", {step: TrafficCounts(write_units=5_000.0)}
    )
    asyncio.run(
        FleetTraffic(stack.tables.for_control_plane(may_write=True)).put(
            "one", HotPartitionReport((unsharded, shard), (collection_total,))
        )
    )
    code, out, error = hot()
    assert (code, error) == (0, "")
    heading, first, second = (line.split() for line in out.splitlines())
    assert heading[:2] == ["TENANT", "COLLECTION"]
    assert first == ["acme", "open_orders", "50.0", "2,100.0", "210%", "12", "3", "GSI2", "TENANT#acme#OPEN#00"]
    assert second == ["acme", "-", "0.0", "500.0", "50%", "0", "-", "table", "TENANT#acme#PRODUCT#[red]"]
    (row,) = json.loads(hot("--first", "1", "--json")[1])["hotPartitions"]
    assert row == {
        "tenant": "acme",
        "collection": "open_orders",
        "table": "",
        "index": "GSI2",
        "partition": "TENANT#acme#OPEN#00",
        "readUnitsPerSecond": 50.0,
        "writeUnitsPerSecond": 2_100.0,
        "throttled": 12,
        "recommendedShards": 3,
    }


@pytest.mark.parametrize("first", ["0", "101", "many"])
def test_a_value_out_of_range_is_a_usage_error(stack: ServiceStack, first: str) -> None:
    assert hot("--first", first)[0] == 2
