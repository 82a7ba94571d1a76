"""Units of each partition that an item read or write uses, indexes included."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from keyfence_iam.dynamodb.attributes import AttributeChange, apply_changes
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitsByPartition, read_units, write_units
from keyfence_iam.dynamodb.item_size import Item, item_size
from keyfence_iam.dynamodb.parameters import Parameters
from keyfence_iam.dynamodb.table_schema import TableSchema

ItemIdentity = tuple[str, bytes]


class ItemKey(NamedTuple):
    """Whether it is there or not."""

    table: str
    schema: TableSchema
    key: Mapping[str, Any]

    @property
    def partition(self) -> Partition:
        return self.schema.partition_of(self.table, self.key)

    @property
    def identity(self) -> ItemIdentity:
        return self.table, self.schema.identity(self.key)


_HIDING = ("ProjectionExpression", "AttributesToGet", "FilterExpression", "QueryFilter", "ScanFilter")
_WHOLE = frozenset({None, "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRead:
    """`whole` says that the answer shows all that was read. A partition has no target."""

    partition: Partition
    consistent: bool
    returns_whole_items: bool
    factor: int = 1
    target: ItemKey | None = None

    @property
    def minimum_units(self) -> UnitsByPartition:
        return self.units(0)

    def units(self, size: int) -> UnitsByPartition:
        return self.with_units(read_units(size, consistent=self.consistent) * self.factor)

    def with_units(self, units: float) -> UnitsByPartition:
        return (PartitionUnits(self.partition, "read", units),)


def returns_whole_items(call: Parameters) -> bool:
    return call.get("Select") in _WHOLE and all(call.get(name) is None for name in _HIDING)


WriteKind = Literal["Put", "Update", "Delete", "ConditionCheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemWrite:
    """`item` is what is put, `changes` what is updated."""

    target: ItemKey
    kind: WriteKind
    item: Item | None = None
    changes: tuple[AttributeChange, ...] = ()
    factor: int = 1

    @property
    def minimum_units(self) -> UnitsByPartition:
        """What is known without the item that is there."""
        return self._base(item_size(self.item))

    @property
    def has_unknown_values(self) -> bool:
        return any(change.value is ... for change in self.changes)

    def units(self, before: Item | None) -> UnitsByPartition:
        """By the larger of the item before and after, and by what of it each index carries."""
        after = self._after(before)
        base = self._base(max(item_size(before), item_size(after)))
        return base if self.kind == "ConditionCheck" else (*base, *self._indexes(before, after))

    def failed_condition_units(self, before: Item | None) -> UnitsByPartition:
        """A condition that does not hold costs what the item that it looked at costs."""
        return self._base(item_size(before))

    def _base(self, size: int) -> UnitsByPartition:
        return (PartitionUnits(self.target.partition, "write", write_units(size) * self.factor),)

    def _after(self, before: Item | None) -> Item | None:
        match self.kind:
            case "Put":
                return self.item
            case "Update":
                return apply_changes(before or self.target.key, self.changes)
        return None if self.kind == "Delete" else before

    def _indexes(self, before: Item | None, after: Item | None) -> Iterator[PartitionUnits]:
        """Once even in a transaction: an index follows when it is committed."""
        for name, index in self.target.schema.indexes.items():
            old, new = index.project(before), index.project(after)
            if old == new:
                continue
            if old is not None and new is not None and index.key_values(old) == index.key_values(new):
                yield self._entry(name, new, max(item_size(old), item_size(new)))
            else:
                yield from (self._entry(name, entry, item_size(entry)) for entry in (old, new) if entry is not None)

    def _entry(self, index: str, entry: Item, size: int) -> PartitionUnits:
        return PartitionUnits(
            self.target.schema.partition_of(self.target.table, entry, index), "write", write_units(size)
        )
