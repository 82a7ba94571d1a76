"""Keys and indexes of a table, from the response of DescribeTable."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from keyfence_iam.dynamodb.capacity import Partition
from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, Item
from keyfence_iam.dynamodb.parameters import UnsupportedRequest, as_mapping, string

_GLOBAL, _LOCAL = "GlobalSecondaryIndexes", "LocalSecondaryIndexes"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSchema:
    """Keys and projection of a secondary index."""

    keys: tuple[str, ...]
    """All key attributes, those of the partition key first."""
    string_partition: tuple[str, ...] = ()
    """The attributes of the partition key if all of them are strings, else none. IAM compares strings only."""
    projected: frozenset[str] | None = None
    """The attributes that the index has of an item; None for all of them."""
    local: bool = False
    """Whether the index shares the partitions of its table."""

    def project(self, item: Item | None) -> Item | None:
        """Return what the index stores of an item. An item without one of the index's keys is not in the index."""
        if item is None or any(name not in item for name in self.keys):
            return None
        projected = self.projected
        return item if projected is None else {name: item[name] for name in item if name in projected}

    def key_values(self, item: Item) -> list[Any]:
        return [item[name] for name in self.keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """Key attributes of a table, the partition key first, and its indexes by name. The partition key is a string."""

    keys: tuple[str, ...]
    indexes: Mapping[str, IndexSchema] = field(default_factory=dict)

    @classmethod
    def from_description(cls, table: object) -> "TableSchema":
        """Read `Table` in a response of DescribeTable.

        Raises UnsupportedRequest unless the partition key is one string, and each index has a partition key.
        """
        description = as_mapping(table, "Table")
        types = {
            string(one, "AttributeName"): one.get("AttributeType") for one in _maps(description, "AttributeDefinitions")
        }
        partition, keys = _partition_key(description), _keys(description)
        if len(partition) != 1 or types.get(partition[0]) != "S":
            raise UnsupportedRequest("the partition key of the table is not one string attribute")
        return cls(keys=keys, indexes=dict(_indexes(description, keys, types)))

    @classmethod
    def with_keys(cls, partition: str, indexes: Mapping[str, str | tuple[str, ...]] | None = None) -> "TableSchema":
        """Return a table with this partition key and these partition keys of global indexes, all of them strings."""
        named = {name: (key,) if isinstance(key, str) else key for name, key in (indexes or {}).items()}
        return cls(
            keys=(partition,),
            indexes={name: IndexSchema(keys=key, string_partition=key) for name, key in named.items()},
        )

    @property
    def partition_key(self) -> str:
        return self.keys[0]

    def partition_attributes(self, index: str | None) -> tuple[str, ...]:
        """Return the attributes of the partition key, of the table or of an index.

        Raises UnsupportedRequest if the table has no such index, or if the index's partition key is not of strings.
        """
        if index is None:
            return self.keys[:1]
        known = self.indexes.get(index)
        if known is None or not known.string_partition:
            raise UnsupportedRequest(f"unknown index {index!r}")
        return known.string_partition

    def index_partition_attributes(self) -> frozenset[str]:
        """Return the first partition key attribute of each index, without the table's own partition key."""
        first = {index.string_partition[0] for index in self.indexes.values() if index.string_partition}
        return frozenset(first - {self.partition_key})

    def identity(self, item: Item) -> bytes:
        """Return the key of an item in a form that can be compared and hashed."""
        return orjson.dumps([item.get(name) for name in self.keys])

    def key_of(self, item: Item) -> dict[str, Any]:
        return {name: item.get(name) for name in self.keys}

    def partition_of(self, table: str, item: Item, index: str | None = None) -> Partition:
        """Return the partition that holds an item, or its projection into an index."""
        schema = None if index is None else self.indexes[index]
        if schema is None or schema.local:
            return Partition(table, None, _text(item[self.partition_key]))
        return Partition(table, index, _text(item[schema.keys[0]]))


def _indexes(
    description: Mapping[str, Any], table_keys: tuple[str, ...], types: Mapping[str, object]
) -> Iterator[tuple[str, IndexSchema]]:
    for kind in (_GLOBAL, _LOCAL):
        for index in _maps(description, kind):
            name, keys, partition = string(index, "IndexName"), _keys(index), _partition_key(index)
            if not partition:
                raise UnsupportedRequest(f"the index {name!r} has no partition key")
            yield (
                name,
                IndexSchema(
                    keys=keys,
                    string_partition=partition if all(types.get(part) == "S" for part in partition) else (),
                    projected=_projected(index.get("Projection") or {}, frozenset((*table_keys, *keys))),
                    local=kind == _LOCAL,
                ),
            )


def _keys(description: Mapping[str, Any]) -> tuple[str, ...]:
    partition = _partition_key(description)
    sort = (string(one, "AttributeName") for one in _maps(description, "KeySchema") if one.get("KeyType") != "HASH")
    return (*partition, *sort)


def _partition_key(description: Mapping[str, Any]) -> tuple[str, ...]:
    schema = _maps(description, "KeySchema")
    return tuple(string(one, "AttributeName") for one in schema if one.get("KeyType") == "HASH")


def _projected(projection: Mapping[str, Any], keys: frozenset[str]) -> frozenset[str] | None:
    if projection.get("ProjectionType", "ALL") == "ALL":
        return None
    return keys | frozenset(projection.get("NonKeyAttributes") or ())


def _maps(description: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = description.get(name)
    return (as_mapping(one, name) for one in (found if isinstance(found, list) else []))


def _text(value: Any) -> str:
    known = value.get(UNKNOWN_NEW_VALUE, value) if isinstance(value, Mapping) else None
    return str(known.get("S", "")) if isinstance(known, Mapping) else ""
