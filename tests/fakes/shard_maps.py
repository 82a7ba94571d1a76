"""Shard maps for tests."""

from collections.abc import Mapping

from keyfence.store.shards import ShardCounts, ShardMap


def even_shards(counts: Mapping[str, int]) -> ShardMap:
    """Collections that have had this many shards from the start."""
    return ShardMap({name: ShardCounts(read_shards=count, write_shards=count) for name, count in counts.items()})
