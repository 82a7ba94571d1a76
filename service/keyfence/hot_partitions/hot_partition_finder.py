"""`HotPartitionFinder`: finds the hottest partitions in the traffic of this process, and their sharded lists."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from keyfence.hot_partitions.partition_load import NO_TRAFFIC, TABLE, PartitionLoad, TenantPartition, add_steps
from keyfence.store.entity import Entity
from keyfence.store.key_template import KeyField, KeyTemplate
from keyfence.store.shards import MAX_SHARDS, shard_suffix
from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, SpaceSavingSketch, TrafficWindow

MAX_PARTITIONS = 50
"""The most partitions that a report contains, so that it fits into one stored item."""

MIN_REPORTED_SHARE = 0.1
"""A partition is reported if calls request at least this share of its limit."""

_VALUE_PATTERN = "[^#]+"
_SHARD_PATTERN = "[0-9a-f]{2}"


class ShardedList(NamedTuple):
    """A list that is spread over shards. The key of `partition` is the key of each shard without its suffix."""

    collection: str
    partition: TenantPartition

    def possible_shards(self) -> Iterator[TenantPartition]:
        """Yields all partitions that the list could have with any number of shards."""
        for shard in range(MAX_SHARDS):
            yield self.partition._replace(key=f"{self.partition.key}#{shard_suffix(shard)}")


class CollectionPattern(NamedTuple):
    """A pattern that matches the partition keys of a sharded collection. Its first group is the key of the list."""

    index_name: str
    pattern: re.Pattern[str]
    collection: str


@dataclass(frozen=True, slots=True)
class CollectionMatcher:
    """Finds the sharded collection that a partition belongs to. It compares the key with the key templates."""

    patterns: tuple[CollectionPattern, ...]

    @classmethod
    def from_entities(cls, entities: Iterable[Entity[Any]]) -> "CollectionMatcher":
        return cls(tuple(pattern for entity in entities for pattern in _collection_patterns(entity)))

    def find(self, partition: TenantPartition) -> ShardedList | None:
        for index_name, pattern, collection in self.patterns:
            if index_name == partition.index_name and (match := pattern.fullmatch(partition.key)):
                return ShardedList(collection, partition._replace(key=match[1]))
        return None


def _collection_patterns(entity: Entity[Any]) -> Iterator[CollectionPattern]:
    for index, key in entity.keys.items():
        if key.sharding:
            fence_pattern = f"TENANT#{_VALUE_PATTERN}#" + (f"{_VALUE_PATTERN}#" if key.is_index_key else "")
            pattern = re.compile(f"({fence_pattern}{_template_pattern(key.partition)})#{_SHARD_PATTERN}")
            yield CollectionPattern(TABLE if index == "table" else index.upper(), pattern, key.sharding.collection)


def _template_pattern(template: KeyTemplate) -> str:
    return "#".join(segment if isinstance(segment, str) else _field_pattern(segment) for segment in template.segments)


def _field_pattern(field: KeyField) -> str:
    """Returns the pattern of a field's value. Only a path may contain `#`."""
    value = f"{_VALUE_PATTERN}(?:#{_VALUE_PATTERN})*" if field.spec == "path" else _VALUE_PATTERN
    return field.tag + value


@dataclass(frozen=True, slots=True)
class HotPartitionReport:
    """Hot partitions, and the sharded lists that they belong to. The load of a list is the sum of all its shards.

    `bool(report)` is False if the report has no partitions."""

    partitions: tuple[PartitionLoad, ...] = ()
    lists: tuple[PartitionLoad, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.partitions)


@dataclass(frozen=True, slots=True)
class HotPartitionFinder:
    """Finds the hottest partitions in the traffic window of this process, which is one of `servers` processes."""

    window: TrafficWindow[TenantPartition]
    matcher: CollectionMatcher
    servers: int = 1

    def report(self) -> HotPartitionReport:
        """Returns the hottest partitions and their lists.

        Other lists are left out to save time: the sum of a list reads the counts of all its possible shards."""
        loads = [self._load(partition) for partition in self._reportable_partitions()]
        loads.sort(key=lambda pair: (pair[0].limit_share, pair[0].throttled), reverse=True)
        hottest = loads[:MAX_PARTITIONS]
        lists = dict.fromkeys(sharded_list for _, sharded_list in hottest if sharded_list)
        list_loads = sorted(map(self._sum, lists), key=lambda load: load.limit_share, reverse=True)
        return HotPartitionReport(tuple(load for load, _ in hottest), tuple(list_loads))

    def _load(self, partition: TenantPartition) -> tuple[PartitionLoad, ShardedList | None]:
        sharded_list = self.matcher.find(partition)
        collection = sharded_list.collection if sharded_list else ""
        return PartitionLoad(partition, collection, self.window.counts_by_step(partition)), sharded_list

    def _reportable_partitions(self) -> dict[TenantPartition, None]:
        """Returns each partition that is reportable in any step of the window. The dict is used as an ordered set."""
        return dict.fromkeys(
            partition for sketch in self.window.recent_sketches() for partition in _reportable(sketch, self.servers)
        )

    def _sum(self, sharded_list: ShardedList) -> PartitionLoad:
        """Adds up all shards of a list, also those that are not hot themselves."""
        steps = reduce(add_steps, map(self.window.counts_by_step, sharded_list.possible_shards()), NO_TRAFFIC)
        return PartitionLoad(sharded_list.partition, sharded_list.collection, steps)


def _reportable(sketch: SpaceSavingSketch[TenantPartition], servers: int) -> Iterator[TenantPartition]:
    """Yields the partitions to report.

    The traffic of a partition is estimated: all servers together have `servers` times the traffic of this server."""
    share_of_step = MIN_REPORTED_SHARE * STEP_SECONDS / servers
    min_read, min_write = share_of_step * PARTITION_READ_UNITS, share_of_step * PARTITION_WRITE_UNITS
    for partition, entry in sketch:
        if entry.throttled or entry.read_units >= min_read or entry.write_units >= min_write:
            yield partition
