"""The recommended number of shards is enough for the busiest list, and never lower than the current number."""

import pytest

from keyfence.hot_partitions.partition_load import PartitionLoad, TenantPartition
from keyfence.hot_partitions.shard_recommendation import CollectionPeak, collection_peaks
from keyfence.store.shards import MAX_SHARDS, ShardedCollections
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficCounts
from tests.service.hot_partitions.sample_partitions import ACME, GLOBEX, open_orders


def peak(read: float = 0.0, write: float = 0.0, units_per_read: float = 8.0) -> CollectionPeak:
    return CollectionPeak(
        tenant=ACME,
        collection="open_orders",
        read_units_per_second=read,
        write_units_per_second=write,
        units_per_read=units_per_read,
        max_shards=MAX_SHARDS,
    )


@pytest.mark.parametrize(
    ("write", "current", "least"),
    [(0, 1, 1), (1_000, 1, 1), (1_001, 1, 2), (5_000, 1, 5), (5_000, 8, 8), (9_999_999, 1, MAX_SHARDS)],
)
def test_the_minimum_serves_the_peak_and_is_never_below_the_current_number(
    write: float, current: int, least: int
) -> None:
    assert peak(write=write).min_shards(current) == least


def test_more_shards_are_recommended_before_the_limit_and_leave_room() -> None:
    assert [peak(write=units).recommended_shards(1) for units in (700, 701, 1_000, 5_000)] == [1, 2, 2, 10]
    assert peak(write=5_000).recommended_shards(10) == 10


def test_reads_get_more_shards_only_while_that_makes_pages_cheaper() -> None:
    assert peak(read=6_000).recommended_shards(1) == 4
    assert peak(read=6_000, units_per_read=0.5).recommended_shards(1) == 1
    assert (peak(read=6_000).min_shards(1), peak(read=6_000, units_per_read=0.5).min_shards(1)) == (2, 1)


def test_the_peak_names_the_kind_of_units_that_is_nearer_its_limit() -> None:
    assert peak(read=2_000, write=900).event_detail == {"peak": 900, "units": "write"}
    assert peak(read=2_900, write=900).event_detail == {"peak": 2_900, "units": "read"}


def test_the_peak_of_a_collection_is_that_of_its_busiest_list() -> None:
    def region(name: str, write: float, tenant: str = "acme") -> PartitionLoad:
        partition = TenantPartition(
            open_orders().tenant if tenant == "acme" else GLOBEX, "GSI3", f"TENANT#{tenant}#REGION#{name}"
        )
        return PartitionLoad(partition, "orders_by_region", {1: TrafficCounts(write_units=write * STEP_SECONDS)})

    lists = [region("north", 900.0), region("south", 1_200.0), region("north", 50.0, "globex")]
    found = collection_peaks(lists, ShardedCollections())
    assert [(peak.tenant, peak.write_units_per_second) for peak in found] == [(ACME, 1_200.0), (GLOBEX, 50.0)]
