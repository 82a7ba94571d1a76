"""Capacity units that the read or the write of an item uses, of the table's partition and of index partitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from keyfence_iam.dynamodb.attributes import AttributeChange, apply_changes
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitsByPartition, read_units, write_units
from keyfence_iam.dynamodb.item_size import Item, item_size
from keyfence_iam.dynamodb.operations import WriteKind
from keyfence_iam.dynamodb.parameters import Parameters
from keyfence_iam.dynamodb.table_schema import TableSchema

ItemIdentity = tuple[str, bytes]
"""A table and the key of an item in it, comparable and hashable."""

_HIDING_PARAMETERS = ("ProjectionExpression", "AttributesToGet", "FilterExpression", "QueryFilter", "ScanFilter")
_SELECT_ALL = frozenset({None, "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"})


class ItemKey(NamedTuple):
    """The key of an item, whether the item exists or not."""

    table: str
    schema: TableSchema
    key: Mapping[str, Any]

    @property
    def partition(self) -> Partition:
        return self.schema.partition_of(self.table, self.key)

    @property
    def identity(self) -> ItemIdentity:
        return self.table, self.schema.identity(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRead:
    """The read of one item, or of one partition by a Query, which has no `target`."""

    partition: Partition
    consistent: bool
    returns_whole_items: bool
    """Whether the response shows everything that was read, so that its size can be taken from there."""
    factor: int = 1
    target: ItemKey | None = None

    @property
    def minimum_units(self) -> UnitsByPartition:
        return self.units(0)

    def units(self, size: int) -> UnitsByPartition:
        return self.with_units(read_units(size, consistent=self.consistent) * self.factor)

    def with_units(self, units: float) -> UnitsByPartition:
        return (PartitionUnits(self.partition, "read", units),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWrite:
    """The write of one item. A Put has the new `item`, an Update the `changes` of attributes."""

    target: ItemKey
    kind: WriteKind
    item: Item | None = None
    changes: tuple[AttributeChange, ...] = ()
    factor: int = 1

    @property
    def minimum_units(self) -> UnitsByPartition:
        """The units that are certain before the stored item is known."""
        return self._table_units(item_size(self.item))

    @property
    def has_unknown_values(self) -> bool:
        return any(change.value is ... for change in self.changes)

    def units(self, before: Item | None) -> UnitsByPartition:
        """Return the units of a successful write, given the stored item.

        The table counts the larger of the items before and after. Each index counts its projection of them.
        """
        after = self._item_after(before)
        table = self._table_units(max(item_size(before), item_size(after)))
        return table if self.kind == "ConditionCheck" else (*table, *self._index_units(before, after))

    def failed_condition_units(self, before: Item | None) -> UnitsByPartition:
        """Return the units of a write whose condition failed: it costs as much as writing the stored item."""
        return self._table_units(item_size(before))

    def _table_units(self, size: int) -> UnitsByPartition:
        return (PartitionUnits(self.target.partition, "write", write_units(size) * self.factor),)

    def _item_after(self, before: Item | None) -> Item | None:
        match self.kind:
            case "Put":
                return self.item
            case "Update":
                return apply_changes(before or self.target.key, self.changes)
        return None if self.kind == "Delete" else before

    def _index_units(self, before: Item | None, after: Item | None) -> Iterator[PartitionUnits]:
        """An index is written once, also in a transaction: after the commit."""
        for name, index in self.target.schema.indexes.items():
            old, new = index.project(before), index.project(after)
            if old == new:
                continue
            if old is not None and new is not None and index.key_values(old) == index.key_values(new):
                yield self._units_in_index(name, new, max(item_size(old), item_size(new)))
            else:
                projections = (one for one in (old, new) if one is not None)
                yield from (self._units_in_index(name, one, item_size(one)) for one in projections)

    def _units_in_index(self, index: str, projection: Item, size: int) -> PartitionUnits:
        partition = self.target.schema.partition_of(self.target.table, projection, index)
        return PartitionUnits(partition, "write", write_units(size))


def returns_whole_items(call: Parameters) -> bool:
    return call.get("Select") in _SELECT_ALL and all(call.get(name) is None for name in _HIDING_PARAMETERS)
