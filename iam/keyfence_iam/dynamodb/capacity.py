"""Capacity units: what items cost, what a partition can serve, and what `ConsumedCapacity` reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from keyfence_iam.dynamodb.operations import WRITE_OPERATIONS

PARTITION_READ_UNITS = 3_000.0
PARTITION_WRITE_UNITS = 1_000.0
"""Units that DynamoDB serves for one partition in a second."""

READ_BYTES = 4096
WRITE_BYTES = 1024
TRANSACTION_FACTOR = 2
"""DynamoDB prepares and then commits every item of a transaction."""

UnitKind = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition key value of a table, or of one of its global indexes."""

    table: str
    index: str | None
    key: str


class PartitionUnits(NamedTuple):
    """Capacity units of one kind that a call uses of one partition."""

    partition: Partition
    kind: UnitKind
    units: float


UnitsByPartition = tuple[PartitionUnits, ...]


class ConsumedUnits(NamedTuple):
    """Read and write units that a response reports."""

    read: float
    write: float


def read_units(size: int, *, consistent: bool) -> float:
    """Return the units for reading an item of this size. A missing item (size 0) costs the minimum."""
    blocks = max(1, -(-size // READ_BYTES))
    return float(blocks) if consistent else blocks / 2


def write_units(size: int) -> float:
    return float(max(1, -(-size // WRITE_BYTES)))


def partition_seconds(read: float, write: float) -> float:
    """Return for how many seconds these units would occupy a partition completely."""
    return read / PARTITION_READ_UNITS + write / PARTITION_WRITE_UNITS


def partition_share(read: float, write: float) -> float:
    """Return which part of a partition's limit these units per second are. 1 is the limit."""
    return max(read / PARTITION_READ_UNITS, write / PARTITION_WRITE_UNITS)


def consumed_total(consumed: Any) -> float:
    """Return all units of a `ConsumedCapacity`, which is None, one part, or a list with a part for each table."""
    if isinstance(consumed, dict):  # the usual case, at a sixth of the time: the service calls this for each response
        return float(consumed.get("CapacityUnits") or 0.0)
    return float(sum(part.get("CapacityUnits") or 0.0 for part in _parts(consumed)))


def consumed_units(operation: str, consumed: Any) -> ConsumedUnits:
    """Return the units of a `ConsumedCapacity`, reads and writes apart.

    A part without `ReadCapacityUnits` and `WriteCapacityUnits` is all reads or all writes, by the operation.
    A transaction that is repeated with the same token only reads, and its response says so.
    """
    read = write = 0.0
    for part in _parts(consumed):
        units = part.get("CapacityUnits") or 0.0
        if "ReadCapacityUnits" in part or "WriteCapacityUnits" in part:
            written = part.get("WriteCapacityUnits") or 0.0
        else:
            written = units if operation in WRITE_OPERATIONS else 0.0
        read, write = read + units - written, write + written
    return ConsumedUnits(read, write)


def _parts(consumed: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(consumed, Mapping):
        return (consumed,)
    return [part for part in consumed if isinstance(part, Mapping)] if isinstance(consumed, list) else ()
