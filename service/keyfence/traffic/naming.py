"""Which sharded collection a partition belongs to, by the key templates of the entities."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from keyfence.store.entity import Entity
from keyfence.store.shards import LIMIT, slot_text
from keyfence.store.template import Field, Template
from keyfence.traffic.place import TABLE, Place

_VALUE = "[^#]+"
_SLOT = "[0-9a-f]{2}"


class Listed(NamedTuple):
    """A list without its slot: what more slots would share."""

    collection: str
    whole: Place

    def slots(self) -> Iterator[Place]:
        for slot in range(LIMIT):
            yield self.whole._replace(partition=f"{self.whole.partition}#{slot_text(slot)}")


class Shape(NamedTuple):
    """How the partitions of a sharded collection are spelled."""

    where: str
    spelled: re.Pattern[str]
    collection: str


@dataclass(frozen=True, slots=True)
class Naming:
    """Knows the sharded keys; partitions of others are in no collection."""

    shapes: tuple[Shape, ...]

    @classmethod
    def of(cls, entities: Iterable[Entity[Any]]) -> "Naming":
        return cls(tuple(shape for entity in entities for shape in _shapes(entity)))

    def find(self, place: Place) -> Listed | None:
        for shape in self.shapes:
            if shape.where == place.where and (found := shape.spelled.fullmatch(place.partition)):
                return Listed(shape.collection, place._replace(partition=found[1]))
        return None


def _shapes(entity: Entity[Any]) -> Iterator[Shape]:
    for index, key in entity.keys.items():
        if key.shard:
            spelled = re.compile(f"(TENANT#{_VALUE}#{_spelled(key.partition)})#{_SLOT}")
            yield Shape(TABLE if index == "table" else index.upper(), spelled, key.shard.collection)


def _spelled(template: Template) -> str:
    return "#".join(one if isinstance(one, str) else _field(one) for one in template.segments)


def _field(field: Field) -> str:
    value = f"{_VALUE}(?:#{_VALUE})*" if field.spec == "path" else _VALUE
    return field.tag + value
