"""The recommendation is never higher than the number of shards that a collection can have."""

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.hot_partitions.partition_load import PartitionLoad, TenantPartition
from keyfence.hot_partitions.shard_recommendation import collection_peaks
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficCounts
from keyfence_iam.tenant import TenantId


@pytest.mark.parametrize(("collection", "most"), [("counters", 100), ("activity", 256)])
def test_the_recommendation_stays_within_the_limit_of_a_reshard(collection: str, most: int) -> None:
    collections = load_domains().entities.collections
    partition = TenantPartition(TenantId("acme"), "table", "TENANT#acme#X")
    load = PartitionLoad(partition, collection, {1: TrafficCounts(write_units=10_000_000.0 * STEP_SECONDS)})
    (peak,) = collection_peaks([load], collections)
    assert (peak.recommended_shards(1), peak.min_shards(1)) == (most, most)
    assert collections.checked_count(collection, peak.recommended_shards(1)) == most
