"""The hottest partitions of this process; which sharded collection they belong to."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from keyfence.hot_partitions.partition_load import TABLE, Partition, PartitionLoad, Steps, added
from keyfence.store.entity import Entity
from keyfence.store.key_template import KeyField, KeyTemplate
from keyfence.store.shards import MAX_SHARDS, shard_suffix
from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from keyfence_iam.dynamodb.heavy_hitters import SpaceSavingSketch
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, TrafficWindow

_VALUE = "[^#]+"
_SLOT = "[0-9a-f]{2}"


class ShardedList(NamedTuple):
    """A list without its slot: what more slots would share."""

    collection: str
    whole: Partition

    def slots(self) -> Iterator[Partition]:
        for slot in range(MAX_SHARDS):
            yield self.whole._replace(partition=f"{self.whole.partition}#{shard_suffix(slot)}")


class CollectionPattern(NamedTuple):
    """How the partitions of a sharded collection are spelled."""

    where: str
    spelled: re.Pattern[str]
    collection: str


@dataclass(frozen=True, slots=True)
class CollectionMatcher:
    """Knows the sharded keys; partitions of others are in no collection."""

    shapes: tuple[CollectionPattern, ...]

    @classmethod
    def of(cls, entities: Iterable[Entity[Any]]) -> "CollectionMatcher":
        return cls(tuple(shape for entity in entities for shape in _shapes(entity)))

    def find(self, place: Partition) -> ShardedList | None:
        for shape in self.shapes:
            if shape.where == place.where and (found := shape.spelled.fullmatch(place.partition)):
                return ShardedList(shape.collection, place._replace(partition=found[1]))
        return None


def _shapes(entity: Entity[Any]) -> Iterator[CollectionPattern]:
    for index, key in entity.keys.items():
        if key.shard:
            spelled = re.compile(f"(TENANT#{_VALUE}#{_spelled(key.partition)})#{_SLOT}")
            yield CollectionPattern(TABLE if index == "table" else index.upper(), spelled, key.shard.collection)


def _spelled(template: KeyTemplate) -> str:
    return "#".join(one if isinstance(one, str) else _field(one) for one in template.segments)


def _field(field: KeyField) -> str:
    value = f"{_VALUE}(?:#{_VALUE})*" if field.spec == "path" else _VALUE
    return field.tag + value


MOST = 50
WARM = 0.1
"""The part of a partition's limit from which on it is worth a word. Of a fleet, each server sees a part of that."""


@dataclass(frozen=True, slots=True)
class HotPartitionReport:
    """Partitions as they are, and `lists` with the sums of all of their slots."""

    partitions: tuple[PartitionLoad, ...] = ()
    lists: tuple[PartitionLoad, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.partitions)


@dataclass(frozen=True, slots=True)
class HotPartitionFinder:
    """Looks for them in the window."""

    window: TrafficWindow[Partition]
    naming: CollectionMatcher
    servers: int = 1

    def now(self) -> HotPartitionReport:
        """Of the hottest alone the lists are summed, which takes a look at every slot that they might have."""
        named = [(place, self.naming.find(place)) for place in self._warm()]
        spots = [
            (PartitionLoad(place, found.collection if found else "", self.window.steps(place)), found)
            for place, found in named
        ]
        spots.sort(key=lambda one: (one[0].share, one[0].throttled), reverse=True)
        lists = dict.fromkeys(found for _, found in spots[:MOST] if found)
        sums = sorted(map(self._sum, lists), key=lambda spot: spot.share, reverse=True)
        return HotPartitionReport(tuple(spot for spot, _ in spots[:MOST]), tuple(sums))

    def _spot(self, place: Partition, found: ShardedList | None) -> PartitionLoad:
        return PartitionLoad(place, found.collection if found else "", self.window.steps(place))

    def _warm(self) -> dict[Partition, None]:
        return dict.fromkeys(place for one in self.window.recent() for place in _warm(one, self.servers))

    def _sum(self, one: ShardedList) -> PartitionLoad:
        """The slots that are not warm count as well."""
        none: Steps = {}
        return PartitionLoad(one.whole, one.collection, reduce(added, map(self.window.steps, one.slots()), none))


def _warm(sketch: SpaceSavingSketch[Partition], servers: int) -> Iterator[Partition]:
    read, write = (WARM * STEP_SECONDS * limit / servers for limit in (PARTITION_READ_UNITS, PARTITION_WRITE_UNITS))
    return (place for place, one in sketch if one.throttled or one.read >= read or one.write >= write)
