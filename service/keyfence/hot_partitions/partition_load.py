"""`PartitionLoad`: the capacity units that calls requested of one partition in the last minute."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from keyfence_iam.dynamodb.capacity import partition_share
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, STEPS_PER_WINDOW, TrafficCounts
from keyfence_iam.tenant import TenantId

WINDOW_SECONDS = STEP_SECONDS * STEPS_PER_WINDOW
TABLE = "table"
"""The index name of a partition of the table itself."""

CountsByStep = Mapping[int, TrafficCounts]
"""The traffic by the number of the time step, see `step_number`."""

NO_TRAFFIC: CountsByStep = {}


class TenantPartition(NamedTuple):
    """A partition key value of a table or of one of its indexes, and the tenant that the partition belongs to.

    A tenant has two tables while it is moved. `table` says which one is meant."""

    tenant: TenantId
    index_name: str
    key: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The traffic of a partition by time step, or of all shards of a list together.

    `collection` is empty if the partition belongs to no sharded list."""

    partition: TenantPartition
    collection: str
    steps: CountsByStep

    @property
    def read_units_per_second(self) -> float:
        """The read units per second, in the time step with the most read units."""
        return max((counts.read_units for counts in self.steps.values()), default=0.0) / STEP_SECONDS

    @property
    def write_units_per_second(self) -> float:
        """The write units per second, in the time step with the most write units."""
        return max((counts.write_units for counts in self.steps.values()), default=0.0) / STEP_SECONDS

    @property
    def throttled(self) -> int:
        """The number of throttled requests."""
        return sum(counts.throttled for counts in self.steps.values())

    @property
    def units_per_read(self) -> float:
        reads = sum(counts.reads for counts in self.steps.values())
        return sum(counts.read_units for counts in self.steps.values()) / reads if reads else 0.0

    @property
    def limit_share(self) -> float:
        """The share of a partition's limit that calls request: the higher one of the shares of reads and of writes."""
        return partition_share(self.read_units_per_second, self.write_units_per_second)

    def without_steps_before(self, step: int) -> "PartitionLoad":
        """Returns the load without the steps before `step`."""
        return replace(self, steps={number: counts for number, counts in self.steps.items() if number >= step})


def step_number(timestamp: float) -> int:
    """Returns the number of the time step that contains a Unix timestamp. All servers compute the same number."""
    return int(timestamp // STEP_SECONDS)


def sum_by_partition(loads: Iterable[PartitionLoad]) -> tuple[PartitionLoad, ...]:
    """Adds up the loads that different servers have counted for the same partition."""
    sums: dict[TenantPartition, PartitionLoad] = {}
    for load in loads:
        before = sums.get(load.partition)
        sums[load.partition] = load if before is None else replace(before, steps=add_steps(before.steps, load.steps))
    return tuple(sums.values())


def add_steps(left: CountsByStep, right: CountsByStep) -> CountsByStep:
    """Adds the counts of equal time steps, so that only traffic at the same time is added up to a peak."""
    zero = TrafficCounts()
    return {step: left.get(step, zero).plus(right.get(step, zero)) for step in {**left, **right}}


def to_json(loads: Iterable[PartitionLoad]) -> str:
    """Renders loads as JSON lists without field names, which keeps the stored item small."""
    rows = [
        [*load.partition, load.collection, [[step, *counts] for step, counts in load.steps.items()]] for load in loads
    ]
    return orjson.dumps(rows).decode()


def from_json(text: str) -> tuple[PartitionLoad, ...]:
    return tuple(_load(*row) for row in orjson.loads(text))


def _load(tenant: str, index_name: str, key: str, table: str, collection: str, steps: list[list[Any]]) -> PartitionLoad:
    partition = TenantPartition(TenantId(tenant), index_name, key, table)
    return PartitionLoad(partition, collection, {step: TrafficCounts(*counts) for step, *counts in steps})
