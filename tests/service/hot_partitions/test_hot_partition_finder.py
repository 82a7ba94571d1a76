"""A server reports the partitions that are near a limit, and no others."""

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.hot_partitions.hot_partition_finder import MAX_PARTITIONS, CollectionMatcher, HotPartitionFinder
from keyfence.hot_partitions.partition_load import TenantPartition, from_json, to_json
from keyfence_iam.dynamodb.traffic_window import TrafficWindow
from tests.fakes.clock import ManualClock
from tests.service.hot_partitions.sample_partitions import ACME, START, open_orders

MATCHER = CollectionMatcher.from_entities(load_domains().entities)
PRODUCT = TenantPartition(ACME, "table", "TENANT#acme#PRODUCT#prd_1")


@pytest.fixture
def window() -> TrafficWindow[TenantPartition]:
    return TrafficWindow(ManualClock(START))


@pytest.mark.parametrize(("read_units", "write_units"), [(2_999.0, 0.0), (0.0, 999.0)])
def test_partitions_below_a_tenth_of_their_limit_are_not_reported(
    window: TrafficWindow[TenantPartition], read_units: float, write_units: float
) -> None:
    window.add(open_orders(), read_units, write_units)
    assert not HotPartitionFinder(window, MATCHER).report()
    window.add(open_orders(), 1.0, 1.0)
    assert [load.partition for load in HotPartitionFinder(window, MATCHER).report().partitions] == [open_orders()]


def test_each_of_several_servers_reports_a_partition_at_its_part_of_a_tenth_of_the_limit(
    window: TrafficWindow[TenantPartition],
) -> None:
    window.add(open_orders(), 0.0, 250.0)
    assert not HotPartitionFinder(window, MATCHER, servers=3).report()
    assert HotPartitionFinder(window, MATCHER, servers=4).report()


def test_throttled_partitions_are_always_reported(window: TrafficWindow[TenantPartition]) -> None:
    window.add(PRODUCT, 0.5, 0.0).throttled += 1
    (load,) = HotPartitionFinder(window, MATCHER).report().partitions
    assert (load.collection, load.throttled) == ("", 1)


def test_the_load_of_a_list_is_the_sum_of_all_its_shards(window: TrafficWindow[TenantPartition]) -> None:
    window.add(open_orders("00"), 0.0, 5_000.0)
    window.add(open_orders("0a"), 0.0, 900.0)
    window.add(open_orders("ff"), 0.0, 100.0)
    hot = HotPartitionFinder(window, MATCHER).report()
    assert [(load.partition.key, load.write_units_per_second) for load in hot.partitions] == [
        ("TENANT#acme#tag#OPEN#00", 500.0)
    ]
    assert [(load.partition.key, load.collection, load.write_units_per_second) for load in hot.lists] == [
        ("TENANT#acme#tag#OPEN", "open_orders", 600.0)
    ]


def test_only_the_hottest_partitions_are_reported(window: TrafficWindow[TenantPartition]) -> None:
    for number in range(2 * MAX_PARTITIONS):
        window.add(TenantPartition(ACME, "table", f"TENANT#acme#PRODUCT#prd_{number:03d}"), 0.0, 1_000.0 + number)
    found = HotPartitionFinder(window, MATCHER).report().partitions
    assert len(found) == MAX_PARTITIONS
    assert {load.partition.key[-3:] for load in found} == {
        f"{number:03d}" for number in range(MAX_PARTITIONS, 2 * MAX_PARTITIONS)
    }


def test_loads_are_the_same_after_they_were_rendered_as_json_and_parsed(window: TrafficWindow[TenantPartition]) -> None:
    window.add(open_orders(), 1_234.5, 5_678.0).reads += 3
    window.add(PRODUCT, 0.5, 0.0).throttled += 1
    hot = HotPartitionFinder(window, MATCHER).report()
    assert from_json(to_json(hot.partitions)) == hot.partitions
    assert from_json(to_json(hot.lists)) == hot.lists
