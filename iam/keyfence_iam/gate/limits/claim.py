"""What a call wants of a partition."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition key value of a table, or of one of its global indexes."""

    table: str
    index: str | None
    key: str


class Claim(NamedTuple):
    """Units of one kind."""

    partition: Partition
    kind: Kind
    units: float


Claims = tuple[Claim, ...]
