"""Capacity units, partition limits 3,000/1,000, `ConsumedCapacity`, `Partition`."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

UnitKind = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition key value of a table, or of one of its global indexes."""

    table: str
    index: str | None
    key: str


class PartitionUnits(NamedTuple):
    """Units of one kind."""

    partition: Partition
    kind: UnitKind
    units: float


Claims = tuple[PartitionUnits, ...]


WRITE_BYTES = 1024
READ_BYTES = 4096
TRANSACTION_FACTOR = 2
"""Every item of a transaction is prepared and then committed."""


def write_units(size: int) -> float:
    return float(max(1, -(-size // WRITE_BYTES)))


def read_units(size: int, *, consistent: bool) -> float:
    """What is not there costs as much as the smallest that is."""
    whole = max(1, -(-size // READ_BYTES))
    return float(whole) if consistent else whole / 2
