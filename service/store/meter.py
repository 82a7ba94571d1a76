"""What was asked of DynamoDB: calls and the capacity they consumed, by operation."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Meter:
    """Counts for one request, or for the whole process when it is the `total` of others."""

    calls: Counter[str] = field(default_factory=Counter)
    units: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    total: "Meter | None" = None

    def record(self, operation: str, answer: Mapping[str, Any]) -> None:
        self._add(operation, _units(answer))

    def _add(self, operation: str, units: float) -> None:
        self.calls[operation] += 1
        self.units[operation] += units
        if self.total is not None:
            self.total._add(operation, units)


def _units(answer: Mapping[str, Any]) -> float:
    consumed = answer.get("ConsumedCapacity") or []
    parts = consumed if isinstance(consumed, list) else [consumed]
    return float(sum(part.get("CapacityUnits", 0.0) for part in parts))
