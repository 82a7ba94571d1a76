"""A partition, or all slots of one, with what was asked of it in each step of the last minute."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from keyfence.traffic.place import Place
from keyfence.traffic.units import READ_LIMIT, STEP, WRITE_LIMIT, Units
from keyfence_iam.boundary import TenantId

Steps = Mapping[int, Units]


@dataclass(frozen=True, slots=True)
class Spot:
    """`collection` is empty where there are no slots."""

    place: Place
    collection: str
    steps: Steps

    @property
    def read(self) -> float:
        """Units a second, in the step that had most of them."""
        return max((one.read for one in self.steps.values()), default=0.0) / STEP

    @property
    def write(self) -> float:
        return max((one.write for one in self.steps.values()), default=0.0) / STEP

    @property
    def throttled(self) -> int:
        return sum(one.throttled for one in self.steps.values())

    @property
    def units_per_read(self) -> float:
        reads = sum(one.reads for one in self.steps.values())
        return sum(one.read for one in self.steps.values()) / reads if reads else 0.0

    @property
    def share(self) -> float:
        """Of what one partition gives."""
        return max(self.read / READ_LIMIT, self.write / WRITE_LIMIT)

    def since(self, step: int) -> "Spot":
        return replace(self, steps={at: units for at, units in self.steps.items() if at >= step})


def summed(spots: Iterable[Spot]) -> tuple[Spot, ...]:
    """One for each place."""
    found: dict[Place, Spot] = {}
    for spot in spots:
        known = found.get(spot.place)
        found[spot.place] = spot if known is None else replace(known, steps=added(known.steps, spot.steps))
    return tuple(found.values())


def added(one: Steps, other: Steps) -> Steps:
    """Of the same moments, so that the highest sum is of what was asked at once."""
    return {step: one.get(step, Units()).plus(other.get(step, Units())) for step in {**one, **other}}


def written(spots: Iterable[Spot]) -> str:
    """As JSON, in which it is small."""
    lines = [[*spot.place, spot.collection, [[step, *units] for step, units in spot.steps.items()]] for spot in spots]
    return orjson.dumps(lines).decode()


def read(text: str) -> tuple[Spot, ...]:
    return tuple(_read(*line) for line in orjson.loads(text))


def _read(tenant: str, where: str, partition: str, table: str, collection: str, steps: list[list[Any]]) -> Spot:
    place = Place(TenantId(tenant), where, partition, table)
    return Spot(place, collection, {step: Units(*units) for step, *units in steps})
