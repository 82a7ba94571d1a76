"""What a request asked of DynamoDB: each call with the capacity it consumed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Reading:
    """One call as it was made, and what it cost."""

    operation: str
    parameters: Mapping[str, Any]
    units: float

    @property
    def index(self) -> str | None:
        return self.parameters.get("IndexName")


@dataclass(slots=True)
class Meter:
    """Collects the readings of one request."""

    readings: list[Reading] = field(default_factory=list)

    def record(self, operation: str, parameters: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        self.readings.append(Reading(operation, parameters, _units(answer)))

    @property
    def units(self) -> float:
        return sum(reading.units for reading in self.readings)


def _units(answer: Mapping[str, Any]) -> float:
    consumed = answer.get("ConsumedCapacity") or []
    parts = consumed if isinstance(consumed, list) else [consumed]
    return float(sum(part.get("CapacityUnits", 0.0) for part in parts))
