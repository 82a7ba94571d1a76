"""Capacity units: the cost of reading and writing items, the limits of a partition, and `ConsumedCapacity`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from keyfence_iam.dynamodb.operations import WRITE_OPERATIONS

PARTITION_READ_UNITS = 3_000.0
PARTITION_WRITE_UNITS = 1_000.0
"""How many read units and write units DynamoDB serves for one partition in a second."""

READ_UNIT_BYTES = 4096
"""Bytes that one read unit covers."""
WRITE_UNIT_BYTES = 1024
"""Bytes that one write unit covers."""
TRANSACTION_FACTOR = 2
"""In a transaction every item costs twice as much: DynamoDB prepares each write or read, and then commits it."""

UnitKind = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition key value of a table, or of one of its global indexes."""

    table: str
    index: str | None
    key: str


class PartitionUnits(NamedTuple):
    """The capacity units of one kind that a call uses in one partition."""

    partition: Partition
    kind: UnitKind
    units: float


UnitsByPartition = tuple[PartitionUnits, ...]


class ConsumedUnits(NamedTuple):
    """The read and write units that a response reports."""

    read: float
    write: float


def read_units(size: int, *, consistent: bool) -> float:
    """Returns the units for reading an item of this size. A missing item (size 0) costs the minimum."""
    blocks = max(1, -(-size // READ_UNIT_BYTES))  # rounded up
    return float(blocks) if consistent else blocks / 2


def write_units(size: int) -> float:
    """Returns the units for writing an item of this size."""
    return float(max(1, -(-size // WRITE_UNIT_BYTES)))  # rounded up


def partition_seconds(read: float, write: float) -> float:
    """Returns the seconds for which these units would use up the whole capacity of a partition."""
    return read / PARTITION_READ_UNITS + write / PARTITION_WRITE_UNITS


def partition_share(read: float, write: float) -> float:
    """Returns the share of a partition's limit that these units per second use. 1 is the limit."""
    return max(read / PARTITION_READ_UNITS, write / PARTITION_WRITE_UNITS)


def consumed_total(consumed: Any) -> float:
    """Returns the sum of all units in `ConsumedCapacity`: a map for one table, or a list of such maps, or None."""
    # Most responses have a map. Its own code path is six times as fast, and the service calls this for each response.
    if isinstance(consumed, dict):
        return float(consumed.get("CapacityUnits") or 0.0)
    return float(sum(table.get("CapacityUnits") or 0.0 for table in _table_maps(consumed)))


def consumed_units(operation: str, consumed: Any) -> ConsumedUnits:
    """Returns the sums of read units and of write units in `ConsumedCapacity`.

    If a table's map has neither `ReadCapacityUnits` nor `WriteCapacityUnits`, the operation decides whether all its
    units are read or write units. A TransactWriteItems that is repeated with the same token has `ReadCapacityUnits`,
    since it only reads.
    """
    read = write = 0.0
    for table in _table_maps(consumed):
        units = table.get("CapacityUnits") or 0.0
        if "ReadCapacityUnits" in table or "WriteCapacityUnits" in table:
            write_part = table.get("WriteCapacityUnits") or 0.0
        else:
            write_part = units if operation in WRITE_OPERATIONS else 0.0
        read, write = read + units - write_part, write + write_part
    return ConsumedUnits(read, write)


def _table_maps(consumed: Any) -> Sequence[Mapping[str, Any]]:
    """Returns the map of each table in `ConsumedCapacity`."""
    if isinstance(consumed, Mapping):
        return (consumed,)
    return [table for table in consumed if isinstance(table, Mapping)] if isinstance(consumed, list) else ()
