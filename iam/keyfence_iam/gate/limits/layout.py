"""How a table and its indexes lay out items: their keys, and which attributes an index carries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from keyfence_iam.gate.limits.claim import Partition
from keyfence_iam.gate.limits.size import ALTERED, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLayout:
    """`carried` is None where an index carries whole items; a local one lives in the table's partitions."""

    keys: tuple[str, ...]
    carried: frozenset[str] | None
    local: bool

    def entry(self, item: Item | None) -> Item | None:
        """What the index has of an item; nothing of one that lacks a key."""
        if item is None or any(name not in item for name in self.keys):
            return None
        carried = self.carried
        return item if carried is None else {name: item[name] for name in item if name in carried}

    def place(self, entry: Item) -> list[Any]:
        return [entry[name] for name in self.keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The first of the keys leads."""

    keys: tuple[str, ...]
    indexes: Mapping[str, IndexLayout]

    @classmethod
    def described(cls, table: Any) -> "Layout":
        """Out of `Table` in the answer of DescribeTable, which the fence has understood already."""
        keys = _keys(table)
        return cls(keys=keys, indexes=dict(_indexes(table, keys)))

    def identity(self, item: Item) -> bytes:
        return orjson.dumps([item.get(name) for name in self.keys])

    def key_of(self, item: Item) -> dict[str, Any]:
        return {name: item.get(name) for name in self.keys}

    def partition(self, table: str, item: Item, index: str | None = None) -> Partition:
        layout = None if index is None else self.indexes[index]
        if layout is None or layout.local:
            return Partition(table, None, _text(item[self.keys[0]]))
        return Partition(table, index, _text(item[layout.keys[0]]))


def _keys(described: Mapping[str, Any]) -> tuple[str, ...]:
    schema = sorted(described.get("KeySchema") or (), key=lambda one: one.get("KeyType") != "HASH")
    return tuple(one["AttributeName"] for one in schema)


def _indexes(table: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, IndexLayout]]:
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in table.get(kind) or ():
            own = _keys(index)
            carried = _carried(index.get("Projection") or {}, frozenset((*keys, *own)))
            yield index["IndexName"], IndexLayout(keys=own, carried=carried, local=kind.startswith("Local"))


def _carried(projection: Mapping[str, Any], keys: frozenset[str]) -> frozenset[str] | None:
    if projection.get("ProjectionType", "ALL") == "ALL":
        return None
    return keys | frozenset(projection.get("NonKeyAttributes") or ())


def _text(value: Any) -> str:
    known = value.get(ALTERED, value) if isinstance(value, Mapping) else None
    return str(known.get("S", "")) if isinstance(known, Mapping) else ""
