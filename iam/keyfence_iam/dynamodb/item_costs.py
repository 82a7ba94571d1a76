"""The capacity units of reading or writing one item, in the table's partition and in the partitions of indexes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from keyfence_iam.dynamodb.attributes import AttributeChange, apply_changes
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitsByPartition, read_units, write_units
from keyfence_iam.dynamodb.item_size import Item, item_size
from keyfence_iam.dynamodb.operations import WriteKind
from keyfence_iam.dynamodb.request_parameters import Parameters
from keyfence_iam.dynamodb.table_schema import TableSchema

ItemIdentity = tuple[str, bytes]
"""The name of a table, and the key of an item as bytes. It can be compared and hashed."""

_PARAMETERS_THAT_HIDE_DATA = (
    "ProjectionExpression",
    "AttributesToGet",
    "FilterExpression",
    "QueryFilter",
    "ScanFilter",
)
"""If a call has one of these parameters, the response has less data than DynamoDB reads and counts."""
_SELECT_WHOLE_ITEMS = frozenset({None, "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"})
"""Values of `Select` for which the response has whole items. None stands for a call without `Select`."""


class ItemKey(NamedTuple):
    """The key of an item, with its table. The item need not exist."""

    table: str
    schema: TableSchema
    key: Mapping[str, Any]

    @property
    def partition(self) -> Partition:
        return self.schema.partition_of(self.table, self.key)

    @property
    def identity(self) -> ItemIdentity:
        return self.table, self.schema.key_bytes(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRead:
    """The read of one item, or a Query of one partition. A Query has no `target`."""

    partition: Partition
    consistent: bool
    returns_whole_items: bool
    """Whether the response has all data that was read. If so, the units are computed from the size of the response."""
    unit_factor: int = 1
    """The units are multiplied by this factor. It is TRANSACTION_FACTOR in a transaction."""
    target: ItemKey | None = None

    @property
    def minimum_units(self) -> UnitsByPartition:
        """The units of reading a missing item or an empty partition."""
        return self.units(0)

    def units(self, size: int) -> UnitsByPartition:
        return self.units_in_partition(read_units(size, consistent=self.consistent) * self.unit_factor)

    def units_in_partition(self, units: float) -> UnitsByPartition:
        return (PartitionUnits(self.partition, "read", units),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWrite:
    """The write of one item. A Put has the new `item`, an Update the `changes` of attributes."""

    target: ItemKey
    kind: WriteKind
    item: Item | None = None
    changes: tuple[AttributeChange, ...] = ()
    unit_factor: int = 1
    """The units are multiplied by this factor. It is TRANSACTION_FACTOR in a transaction."""

    @property
    def minimum_units(self) -> UnitsByPartition:
        """The lowest units that the write can cost, computed without the stored item."""
        return self._table_units(item_size(self.item))

    @property
    def has_unknown_values(self) -> bool:
        """Whether the update stores a value that only the engine computes."""
        return any(change.value is ... for change in self.changes)

    def units(self, stored_item: Item | None) -> UnitsByPartition:
        """Returns the units of a successful write. `stored_item` is the item before the write, if it exists.

        In the table, the larger of the old and the new item counts. In each index, the changed projections count.
        """
        new_item = self._item_after(stored_item)
        table_units = self._table_units(max(item_size(stored_item), item_size(new_item)))
        if self.kind == "ConditionCheck":
            return table_units
        return (*table_units, *self._index_units(stored_item, new_item))

    def failed_condition_units(self, stored_item: Item | None) -> UnitsByPartition:
        """Returns the units of a write whose condition failed: as many as for writing the stored item."""
        return self._table_units(item_size(stored_item))

    def _table_units(self, size: int) -> UnitsByPartition:
        return (PartitionUnits(self.target.partition, "write", write_units(size) * self.unit_factor),)

    def _item_after(self, stored_item: Item | None) -> Item | None:
        match self.kind:
            case "Put":
                return self.item
            case "Update":
                return apply_changes(stored_item or self.target.key, self.changes)
        return None if self.kind == "Delete" else stored_item

    def _index_units(self, old_item: Item | None, new_item: Item | None) -> Iterator[PartitionUnits]:
        """Yields the units in each index whose projection changes.

        If the index keys change, the old entry is deleted and the new one is put: both count. A transaction does not
        double these units, since DynamoDB writes indexes once, after the commit.
        """
        for name, index in self.target.schema.indexes.items():
            old, new = index.project(old_item), index.project(new_item)
            if old == new:
                continue
            if old is not None and new is not None and index.key_values(old) == index.key_values(new):
                yield self._units_in_index(name, new, max(item_size(old), item_size(new)))
            else:
                entries = (entry for entry in (old, new) if entry is not None)
                yield from (self._units_in_index(name, entry, item_size(entry)) for entry in entries)

    def _units_in_index(self, index: str, projection: Item, size: int) -> PartitionUnits:
        partition = self.target.schema.partition_of(self.target.table, projection, index)
        return PartitionUnits(partition, "write", write_units(size))


def returns_whole_items(call: Parameters) -> bool:
    hides_data = any(call.get(name) is not None for name in _PARAMETERS_THAT_HIDE_DATA)
    return call.get("Select") in _SELECT_WHOLE_ITEMS and not hides_data
