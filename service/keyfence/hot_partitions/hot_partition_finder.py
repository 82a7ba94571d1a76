"""`HotPartitionFinder`: the hottest partitions that this process sees, and the sharded lists that they belong to."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from keyfence.hot_partitions.partition_load import TABLE, PartitionLoad, Steps, TenantPartition, add_steps
from keyfence.store.entity import Entity
from keyfence.store.key_template import KeyField, KeyTemplate
from keyfence.store.shards import MAX_SHARDS, shard_suffix
from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from keyfence_iam.dynamodb.heavy_hitters import SpaceSavingSketch
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficWindow

MAX_PARTITIONS = 50
WARM = 0.1
"""The share of a partition's limit from which on a partition is reported."""

_VALUE = "[^#]+"
_SHARD = "[0-9a-f]{2}"


class ShardedList(NamedTuple):
    """A list that is spread over shards. `partition` has the key of its shards without the suffix."""

    collection: str
    partition: TenantPartition

    def shards(self) -> Iterator[TenantPartition]:
        """All partitions that the list could have, whatever its number of shards is."""
        for shard in range(MAX_SHARDS):
            yield self.partition._replace(key=f"{self.partition.key}#{shard_suffix(shard)}")


class CollectionPattern(NamedTuple):
    """A pattern that matches the partition keys of a sharded collection."""

    index_name: str
    pattern: re.Pattern[str]
    collection: str


@dataclass(frozen=True, slots=True)
class CollectionMatcher:
    """Finds the sharded collection that a partition belongs to, by the form of its key."""

    patterns: tuple[CollectionPattern, ...]

    @classmethod
    def of(cls, entities: Iterable[Entity[Any]]) -> "CollectionMatcher":
        return cls(tuple(pattern for entity in entities for pattern in _patterns(entity)))

    def find(self, partition: TenantPartition) -> ShardedList | None:
        for index_name, pattern, collection in self.patterns:
            if index_name == partition.index_name and (match := pattern.fullmatch(partition.key)):
                return ShardedList(collection, partition._replace(key=match[1]))
        return None


def _patterns(entity: Entity[Any]) -> Iterator[CollectionPattern]:
    for index, key in entity.keys.items():
        if key.shard:
            pattern = re.compile(f"(TENANT#{_VALUE}#{_template_pattern(key.partition)})#{_SHARD}")
            yield CollectionPattern(TABLE if index == "table" else index.upper(), pattern, key.shard.collection)


def _template_pattern(template: KeyTemplate) -> str:
    return "#".join(part if isinstance(part, str) else _field_pattern(part) for part in template.segments)


def _field_pattern(field: KeyField) -> str:
    value = f"{_VALUE}(?:#{_VALUE})*" if field.spec == "path" else _VALUE
    return field.tag + value


@dataclass(frozen=True, slots=True)
class HotPartitionReport:
    """Hot partitions, and the sharded lists that they belong to, each with the sum of all its shards."""

    partitions: tuple[PartitionLoad, ...] = ()
    lists: tuple[PartitionLoad, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.partitions)


@dataclass(frozen=True, slots=True)
class HotPartitionFinder:
    """Finds the hottest partitions in the traffic window of this process, one of `servers` processes."""

    window: TrafficWindow[TenantPartition]
    matcher: CollectionMatcher
    servers: int = 1

    def report(self) -> HotPartitionReport:
        """Report the hottest partitions. Only their lists are summed, since a sum reads all possible shards."""
        found = [self._load(partition) for partition in self._warm_partitions()]
        found.sort(key=lambda pair: (pair[0].share, pair[0].throttled), reverse=True)
        hottest = found[:MAX_PARTITIONS]
        lists = dict.fromkeys(sharded for _, sharded in hottest if sharded)
        sums = sorted(map(self._sum, lists), key=lambda load: load.share, reverse=True)
        return HotPartitionReport(tuple(load for load, _ in hottest), tuple(sums))

    def _load(self, partition: TenantPartition) -> tuple[PartitionLoad, ShardedList | None]:
        sharded = self.matcher.find(partition)
        collection = sharded.collection if sharded else ""
        return PartitionLoad(partition, collection, self.window.steps(partition)), sharded

    def _warm_partitions(self) -> dict[TenantPartition, None]:
        return dict.fromkeys(partition for sketch in self.window.recent() for partition in _warm(sketch, self.servers))

    def _sum(self, sharded: ShardedList) -> PartitionLoad:
        """Add up all shards of a list, also those that are not warm."""
        none: Steps = {}
        steps = reduce(add_steps, map(self.window.steps, sharded.shards()), none)
        return PartitionLoad(sharded.partition, sharded.collection, steps)


def _warm(sketch: SpaceSavingSketch[TenantPartition], servers: int) -> Iterator[TenantPartition]:
    """Partitions that are warm if all servers see as much of them as this one does."""
    read, write = (WARM * STEP_SECONDS * limit / servers for limit in (PARTITION_READ_UNITS, PARTITION_WRITE_UNITS))
    return (partition for partition, entry in sketch if entry.throttled or entry.read >= read or entry.write >= write)
