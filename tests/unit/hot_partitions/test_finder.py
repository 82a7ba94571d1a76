"""What a server tells of its traffic: what is near a limit, and nothing else."""

import pytest

from keyfence.app.domains import load_domains
from keyfence.hot_partitions.finder import MAX_PARTITIONS, CollectionMatcher, HotPartitionFinder
from keyfence.hot_partitions.partition_load import Partition, from_json, to_json
from keyfence_iam.dynamodb.traffic_window import TrafficWindow
from tests.fakes.clock import ManualClock
from tests.unit.hot_partitions.sample_partitions import ACME, START, open_orders

NAMING = CollectionMatcher.of(load_domains().entities)
PRODUCT = Partition(ACME, "table", "TENANT#acme#PRODUCT#prd_1")


@pytest.fixture
def window() -> TrafficWindow[Partition]:
    return TrafficWindow(ManualClock(START))


@pytest.mark.parametrize(("read_units", "write_units"), [(2_999.0, 0.0), (0.0, 999.0)])
def test_nothing_is_told_of_what_uses_less_than_a_tenth_of_its_limit(
    window: TrafficWindow[Partition], read_units: float, write_units: float
) -> None:
    window.add(open_orders(), read_units, write_units)
    assert not HotPartitionFinder(window, NAMING).report()
    window.add(open_orders(), 1.0, 1.0)
    assert [spot.partition for spot in HotPartitionFinder(window, NAMING).report().partitions] == [open_orders()]


def test_a_server_of_many_tells_of_its_part_of_a_tenth(window: TrafficWindow[Partition]) -> None:
    window.add(open_orders(), 0.0, 250.0)
    assert not HotPartitionFinder(window, NAMING, servers=3).report()
    assert HotPartitionFinder(window, NAMING, servers=4).report()


def test_whatever_was_turned_away_is_told(window: TrafficWindow[Partition]) -> None:
    window.add(PRODUCT, 0.5, 0.0).throttled += 1
    (spot,) = HotPartitionFinder(window, NAMING).report().partitions
    assert (spot.collection, spot.throttled) == ("", 1)


def test_a_list_is_the_sum_of_its_slots_also_of_those_that_are_not_hot(window: TrafficWindow[Partition]) -> None:
    window.add(open_orders("00"), 0.0, 5_000.0)
    window.add(open_orders("0a"), 0.0, 900.0)
    window.add(open_orders("ff"), 0.0, 100.0)
    hot = HotPartitionFinder(window, NAMING).report()
    assert [(spot.partition.key, spot.write) for spot in hot.partitions] == [("TENANT#acme#OPEN#00", 500.0)]
    assert [(spot.partition.key, spot.collection, spot.write) for spot in hot.lists] == [
        ("TENANT#acme#OPEN", "open_orders", 600.0)
    ]


def test_only_so_many_are_told_and_they_are_the_hottest(window: TrafficWindow[Partition]) -> None:
    for number in range(2 * MAX_PARTITIONS):
        window.add(Partition(ACME, "table", f"TENANT#acme#PRODUCT#prd_{number:03d}"), 0.0, 1_000.0 + number)
    found = HotPartitionFinder(window, NAMING).report().partitions
    assert len(found) == MAX_PARTITIONS
    assert {spot.partition.key[-3:] for spot in found} == {
        f"{number:03d}" for number in range(MAX_PARTITIONS, 2 * MAX_PARTITIONS)
    }


def test_what_is_written_is_read_back(window: TrafficWindow[Partition]) -> None:
    window.add(open_orders(), 1_234.5, 5_678.0).reads += 3
    window.add(PRODUCT, 0.5, 0.0).throttled += 1
    hot = HotPartitionFinder(window, NAMING).report()
    assert from_json(to_json(hot.partitions)) == hot.partitions
    assert from_json(to_json(hot.lists)) == hot.lists
