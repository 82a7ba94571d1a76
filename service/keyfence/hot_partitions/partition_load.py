"""`Partition`, `CapacityUnits`, `PartitionLoad` over the last minute."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from keyfence_iam.tenant import TenantId

READ_LIMIT = 3_000.0
WRITE_LIMIT = 1_000.0

STEP = 10
"""Seconds that are summed up."""

STEPS = 6
"""So many steps are a window."""

WINDOW = STEP * STEPS


class Units(NamedTuple):
    """What was asked for, also in vain; `reads` are the calls that read, `throttled` those that were turned away."""

    read: float = 0.0
    write: float = 0.0
    reads: int = 0
    throttled: int = 0

    def plus(self, other: "Units") -> "Units":
        return Units(
            self.read + other.read,
            self.write + other.write,
            self.reads + other.reads,
            self.throttled + other.throttled,
        )


def load(read: float, write: float) -> float:
    """Seconds of a partition that these units take."""
    return read / READ_LIMIT + write / WRITE_LIMIT


def step_of(moment: float) -> int:
    """Steps are the same on all servers."""
    return int(moment // STEP)


TABLE = "table"


class Place(NamedTuple):
    """One partition key value of a table, or of its index of that name; whose it is.

    A tenant has two tables while it is moved from one to the other."""

    tenant: TenantId
    where: str
    partition: str
    table: str = ""


def place_of(tenant: TenantId, where: str, partition: str, table: str) -> Place:
    """Made for every call, and in a third of the time that Place itself takes."""
    return tuple.__new__(Place, (tenant, where, partition, table))


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
