"""`TableSchema`: the keys and indexes of a table, from the response of DescribeTable."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from keyfence_iam.dynamodb.capacity import Partition
from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, Item
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest, as_mapping, string

_GLOBAL_INDEXES, _LOCAL_INDEXES = "GlobalSecondaryIndexes", "LocalSecondaryIndexes"


def table_name(name_or_arn: str) -> str:
    """Returns the name of a table that a call names by its name or its ARN."""
    return name_or_arn.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSchema:
    """Keys and projection of a secondary index."""

    keys: tuple[str, ...]
    """All key attributes, those of the partition key first."""
    string_partition_key: tuple[str, ...] = ()
    """The attributes of the partition key if all of them are strings, else empty: IAM compares strings only."""
    projected_attributes: frozenset[str] | None = None
    """The attributes that the index copies from an item. None means all of them."""
    is_local: bool = False
    """Whether the index shares the partitions of its table."""

    def project(self, item: Item | None) -> Item | None:
        """Returns the copy of an item in the index, or None if the item lacks a key attribute of the index."""
        if item is None or any(name not in item for name in self.keys):
            return None
        projected = self.projected_attributes
        return item if projected is None else {name: item[name] for name in item if name in projected}

    def key_values(self, item: Item) -> list[Any]:
        return [item[name] for name in self.keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The keys of a table, and its indexes by name. The table's partition key is one string attribute."""

    keys: tuple[str, ...]
    """The key attributes, the partition key first."""
    indexes: Mapping[str, IndexSchema] = field(default_factory=dict)

    @classmethod
    def from_description(cls, table: object) -> "TableSchema":
        """Returns the schema from `Table` in a response of DescribeTable.

        Raises UnsupportedRequest unless the partition key is one string attribute and each index has a partition key.
        """
        description = as_mapping(table, "Table")
        definitions = _maps(description, "AttributeDefinitions")
        attribute_types = {
            string(definition, "AttributeName"): definition.get("AttributeType") for definition in definitions
        }
        partition_key, keys = _partition_key(description), _keys(description)
        if len(partition_key) != 1 or attribute_types.get(partition_key[0]) != "S":
            raise UnsupportedRequest("the partition key of the table is not one string attribute")
        return cls(keys=keys, indexes=dict(_indexes(description, keys, attribute_types)))

    @classmethod
    def with_keys(
        cls, partition_key: str, index_keys: Mapping[str, str | tuple[str, ...]] | None = None
    ) -> "TableSchema":
        """Returns a table with global indexes. All keys are strings.

        `index_keys` has the partition key of each index, by the name of the index.
        """
        keys_by_index = {name: (key,) if isinstance(key, str) else key for name, key in (index_keys or {}).items()}
        return cls(
            keys=(partition_key,),
            indexes={name: IndexSchema(keys=key, string_partition_key=key) for name, key in keys_by_index.items()},
        )

    @property
    def partition_key(self) -> str:
        return self.keys[0]

    def partition_attributes(self, index: str | None) -> tuple[str, ...]:
        """Returns the partition key attributes of an index, or of the table if `index` is None.

        Raises UnsupportedRequest if the table has no such index, or if not all these attributes are strings.
        """
        if index is None:
            return self.keys[:1]
        schema = self.indexes.get(index)
        if schema is None or not schema.string_partition_key:
            raise UnsupportedRequest(
                f"the table has no index {index!r}, or its partition key is not of the type string"
            )
        return schema.string_partition_key

    def index_partition_attributes(self) -> frozenset[str]:
        """Returns the first partition key attribute of each index, except the partition key of the table.

        An index is left out if an attribute of its partition key is not a string.
        """
        partition_keys = (index.string_partition_key for index in self.indexes.values())
        return frozenset({key[0] for key in partition_keys if key} - {self.partition_key})

    def key_bytes(self, item: Item) -> bytes:
        """Returns the key of an item as bytes, which can be compared and hashed."""
        return orjson.dumps([item.get(name) for name in self.keys])

    def key_of(self, item: Item) -> dict[str, Any]:
        return {name: item.get(name) for name in self.keys}

    def partition_of(self, table: str, item: Item, index: str | None = None) -> Partition:
        """Returns the partition of an item in an index, or in the table if `index` is None or names a local index."""
        schema = None if index is None else self.indexes[index]
        if schema is None or schema.is_local:
            return Partition(table, None, _key_text(item[self.partition_key]))
        return Partition(table, index, _key_text(item[schema.keys[0]]))


def _indexes(
    description: Mapping[str, Any], table_keys: tuple[str, ...], attribute_types: Mapping[str, object]
) -> Iterator[tuple[str, IndexSchema]]:
    for kind in (_GLOBAL_INDEXES, _LOCAL_INDEXES):
        for index in _maps(description, kind):
            name, keys, partition_key = string(index, "IndexName"), _keys(index), _partition_key(index)
            if not partition_key:
                raise UnsupportedRequest(f"the index {name!r} has no partition key")
            has_only_strings = all(attribute_types.get(attribute) == "S" for attribute in partition_key)
            schema = IndexSchema(
                keys=keys,
                string_partition_key=partition_key if has_only_strings else (),
                projected_attributes=_projected_attributes(
                    index.get("Projection") or {}, frozenset((*table_keys, *keys))
                ),
                is_local=kind == _LOCAL_INDEXES,
            )
            yield name, schema


def _keys(description: Mapping[str, Any]) -> tuple[str, ...]:
    schema = _maps(description, "KeySchema")
    sort_key = (string(element, "AttributeName") for element in schema if element.get("KeyType") != "HASH")
    return (*_partition_key(description), *sort_key)


def _partition_key(description: Mapping[str, Any]) -> tuple[str, ...]:
    schema = _maps(description, "KeySchema")
    return tuple(string(element, "AttributeName") for element in schema if element.get("KeyType") == "HASH")


def _projected_attributes(projection: Mapping[str, Any], keys: frozenset[str]) -> frozenset[str] | None:
    if projection.get("ProjectionType", "ALL") == "ALL":
        return None
    return keys | frozenset(projection.get("NonKeyAttributes") or ())


def _maps(description: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yields the maps in a list of the description, or nothing if the description does not have the list."""
    elements = description.get(name)
    return (as_mapping(element, name) for element in (elements if isinstance(elements, list) else []))


def _key_text(value: Any) -> str:
    """Returns the text of a key value, or "" if it is not a string. An unknown new value counts as the old one."""
    known_value = value.get(UNKNOWN_NEW_VALUE, value) if isinstance(value, Mapping) else None
    return str(known_value.get("S", "")) if isinstance(known_value, Mapping) else ""
