"""The load of a partition is that of its busiest step. Loads of several servers are added step by step."""

from keyfence.hot_partitions.partition_load import PartitionLoad, sum_by_partition
from keyfence_iam.dynamodb.traffic_window import TrafficCounts
from tests.service.hot_partitions.sample_partitions import ACME, open_orders


def test_a_peak_is_the_busiest_step_and_not_the_mean_of_the_window() -> None:
    load = PartitionLoad(
        open_orders(), "open_orders", {1: TrafficCounts(300.0, 50.0, 10, 2), 2: TrafficCounts(30.0, 6_000.0, 5, 3)}
    )
    assert (load.read_units_per_second, load.write_units_per_second, load.throttled, load.units_per_read) == (
        30.0,
        600.0,
        5,
        22.0,
    )
    assert load.limit_share == 0.6


def test_the_peak_of_several_servers_is_that_of_one_step() -> None:
    one = PartitionLoad(
        open_orders(), "open_orders", {1: TrafficCounts(write_units=1_000.0), 2: TrafficCounts(write_units=4_000.0)}
    )
    other = PartitionLoad(
        open_orders(), "open_orders", {1: TrafficCounts(write_units=5_000.0), 2: TrafficCounts(write_units=1_000.0)}
    )
    elsewhere = PartitionLoad(open_orders("01"), "open_orders", {1: TrafficCounts(write_units=9_000.0)})
    both, alone = sum_by_partition([one, other, elsewhere])
    assert (both.write_units_per_second, alone.write_units_per_second) == (600.0, 900.0)
    assert both.partition.tenant == ACME
