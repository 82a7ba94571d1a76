"""The key attributes of a table and of its indexes, as far as IAM asks for them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import as_mapping, text

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
            text(one, "AttributeName"): one.get("AttributeType") for one in _maps(described, "AttributeDefinitions")
        }
        partition = _partition(described)
        if len(partition) != 1 or types.get(partition[0]) != "S":
            raise NotUnderstood("a table whose partition key is not one text")
        indexes = [one for kind in _INDEXES for one in _maps(described, kind)]
        found = {text(index, "IndexName"): _partition(index) for index in indexes}
        return cls(
            partition[0], {name: key for name, key in found.items() if all(types.get(part) == "S" for part in key)}
        )

    def partition_of(self, index: str | None) -> tuple[str, ...]:
        if index is None:
            return (self.partition,)
        key = self.indexes.get(index)
        if not key:
            raise NotUnderstood(f"unknown index {index!r}")
        return (key,) if isinstance(key, str) else key

    def index_attributes(self) -> frozenset[str]:
        """The attributes that lead an index, other than the table's own."""
        return frozenset(self.partition_of(index)[0] for index in self.indexes) - {self.partition}


def _partition(described: Mapping[str, Any]) -> tuple[str, ...]:
    schema = _maps(described, "KeySchema")
    return tuple(text(one, "AttributeName") for one in schema if one.get("KeyType") == "HASH")


def _maps(described: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = described.get(name)
    return (as_mapping(one, name) for one in (found if isinstance(found, list) else []))
