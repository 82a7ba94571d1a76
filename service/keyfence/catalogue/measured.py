"""What each field of the API was measured to cost: calls and units, by the patterns that it uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

FILE = Path(__file__).with_name("measured.json")


@dataclass(frozen=True, slots=True)
class Cost:
    """So many calls and units."""

    calls: int
    units: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One field: its reads by pattern, and its transactions and batches of writes together."""

    field: str
    reads: Mapping[str, Cost]
    writes: Cost

    @property
    def read(self) -> Cost:
        costs = self.reads.values()
        return Cost(sum(one.calls for one in costs), sum(one.units for one in costs))

    def document(self) -> dict[str, Any]:
        reads = {name: [cost.calls, cost.units] for name, cost in self.reads.items()}
        return {"field": self.field, "reads": reads, "writes": [self.writes.calls, self.writes.units]}


@cache
def measurements() -> tuple[Measured, ...]:
    return read(orjson.loads(FILE.read_bytes()))


def read(document: Sequence[Mapping[str, Any]]) -> tuple[Measured, ...]:
    return tuple(
        Measured(
            field=one["field"],
            reads={name: Cost(*cost) for name, cost in one["reads"].items()},
            writes=Cost(*one["writes"]),
        )
        for one in document
    )
