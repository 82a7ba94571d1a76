"""`Partition`, `TrafficCounts`, `PartitionLoad` over the last minute."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from keyfence_iam.dynamodb.capacity import partition_share
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, STEPS_PER_WINDOW, TrafficCounts
from keyfence_iam.tenant import TenantId

WINDOW = STEP_SECONDS * STEPS_PER_WINDOW


def step_of(moment: float) -> int:
    """Steps are the same on all servers."""
    return int(moment // STEP_SECONDS)


TABLE = "table"


class Partition(NamedTuple):
    """One partition key value of a table, or of its index of that name; whose it is.

    A tenant has two tables while it is moved from one to the other."""

    tenant: TenantId
    where: str
    partition: str
    table: str = ""


def place_of(tenant: TenantId, where: str, partition: str, table: str) -> Partition:
    """Made for every call, and in a third of the time that Place itself takes."""
    return tuple.__new__(Partition, (tenant, where, partition, table))


Steps = Mapping[int, TrafficCounts]


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """`collection` is empty where there are no slots."""

    place: Partition
    collection: str
    steps: Steps

    @property
    def read(self) -> float:
        """Units a second, in the step that had most of them."""
        return max((one.read for one in self.steps.values()), default=0.0) / STEP_SECONDS

    @property
    def write(self) -> float:
        return max((one.write for one in self.steps.values()), default=0.0) / STEP_SECONDS

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
        return partition_share(self.read, self.write)

    def since(self, step: int) -> "PartitionLoad":
        return replace(self, steps={at: units for at, units in self.steps.items() if at >= step})


def sum_by_partition(spots: Iterable[PartitionLoad]) -> tuple[PartitionLoad, ...]:
    """One for each place."""
    found: dict[Partition, PartitionLoad] = {}
    for spot in spots:
        known = found.get(spot.place)
        found[spot.place] = spot if known is None else replace(known, steps=added(known.steps, spot.steps))
    return tuple(found.values())


def added(one: Steps, other: Steps) -> Steps:
    """Of the same moments, so that the highest sum is of what was asked at once."""
    return {step: one.get(step, TrafficCounts()).plus(other.get(step, TrafficCounts())) for step in {**one, **other}}


def to_json(spots: Iterable[PartitionLoad]) -> str:
    """As JSON, in which it is small."""
    lines = [[*spot.place, spot.collection, [[step, *units] for step, units in spot.steps.items()]] for spot in spots]
    return orjson.dumps(lines).decode()


def from_json(text: str) -> tuple[PartitionLoad, ...]:
    return tuple(_read(*line) for line in orjson.loads(text))


def _read(
    tenant: str, where: str, partition: str, table: str, collection: str, steps: list[list[Any]]
) -> PartitionLoad:
    place = Partition(TenantId(tenant), where, partition, table)
    return PartitionLoad(place, collection, {step: TrafficCounts(*units) for step, *units in steps})
