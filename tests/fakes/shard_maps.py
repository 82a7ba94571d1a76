"""Shard maps for tests."""

from collections.abc import Mapping

from keyfence.store.shards import ShardCounts, ShardMap


def even_shards(counts: Mapping[str, int]) -> ShardMap:
    """Returns a map of collections that have always had this number of shards."""
    return ShardMap({name: ShardCounts(read_shards=count, write_shards=count) for name, count in counts.items()})
