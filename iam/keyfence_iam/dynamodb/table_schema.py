"""`TableSchema`, `IndexSchema` out of DescribeTable: keys, projections."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from keyfence_iam.dynamodb.capacity import Partition
from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, Item
from keyfence_iam.dynamodb.parameters import UnsupportedRequest, as_mapping, string

_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


@dataclass(frozen=True, slots=True)
class TableKeys:
    """Partition key attributes, all of type S; an index may have several, of which the first leads."""

    partition: str
    indexes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def described(cls, table: object) -> "TableKeys":
        """Out of `Table` in the answer of DescribeTable; an index whose partition is not text is left unknown."""
        described = as_mapping(table, "Table")
        types = {
            string(one, "AttributeName"): one.get("AttributeType") for one in _maps(described, "AttributeDefinitions")
        }
        partition = _partition(described)
        if len(partition) != 1 or types.get(partition[0]) != "S":
            raise UnsupportedRequest("a table whose partition key is not one text")
        indexes = [one for kind in _INDEXES for one in _maps(described, kind)]
        found = {string(index, "IndexName"): _partition(index) for index in indexes}
        return cls(
            partition[0], {name: key for name, key in found.items() if all(types.get(part) == "S" for part in key)}
        )

    def partition_attributes(self, index: str | None) -> tuple[str, ...]:
        if index is None:
            return (self.partition,)
        key = self.indexes.get(index)
        if not key:
            raise UnsupportedRequest(f"unknown index {index!r}")
        return (key,) if isinstance(key, str) else key

    def index_partition_attributes(self) -> frozenset[str]:
        """The attributes that lead an index, other than the table's own."""
        return frozenset(self.partition_attributes(index)[0] for index in self.indexes) - {self.partition}


def _partition(described: Mapping[str, Any]) -> tuple[str, ...]:
    schema = _maps(described, "KeySchema")
    return tuple(string(one, "AttributeName") for one in schema if one.get("KeyType") == "HASH")


def _maps(described: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = described.get(name)
    return (as_mapping(one, name) for one in (found if isinstance(found, list) else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSchema:
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
class TableSchema:
    """The first of the keys leads."""

    keys: tuple[str, ...]
    indexes: Mapping[str, IndexSchema]

    @classmethod
    def described(cls, table: Any) -> "TableSchema":
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


def _indexes(table: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, IndexSchema]]:
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in table.get(kind) or ():
            own = _keys(index)
            carried = _carried(index.get("Projection") or {}, frozenset((*keys, *own)))
            yield index["IndexName"], IndexSchema(keys=own, carried=carried, local=kind.startswith("Local"))


def _carried(projection: Mapping[str, Any], keys: frozenset[str]) -> frozenset[str] | None:
    if projection.get("ProjectionType", "ALL") == "ALL":
        return None
    return keys | frozenset(projection.get("NonKeyAttributes") or ())


def _text(value: Any) -> str:
    known = value.get(UNKNOWN_NEW_VALUE, value) if isinstance(value, Mapping) else None
    return str(known.get("S", "")) if isinstance(known, Mapping) else ""
