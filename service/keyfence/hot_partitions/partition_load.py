"""`TenantPartition` and `PartitionLoad`: what calls requested of a partition in the last minute."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from keyfence_iam.dynamodb.capacity import partition_share
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, STEPS_PER_WINDOW, TrafficCounts
from keyfence_iam.tenant import TenantId

WINDOW_SECONDS = STEP_SECONDS * STEPS_PER_WINDOW
TABLE = "table"
"""The name that stands for the table itself where an index could be named."""

Steps = Mapping[int, TrafficCounts]


class TenantPartition(NamedTuple):
    """A partition key value of a table or of one of its indexes, and the tenant that it belongs to.

    `table` tells the two tables of a tenant apart while the tenant is moved."""

    tenant: TenantId
    index_name: str
    key: str
    table: str = ""


def new_partition(tenant: TenantId, index_name: str, key: str, table: str) -> TenantPartition:
    """Make a partition in a third of the time that its constructor takes. The observer makes one for every call."""
    return tuple.__new__(TenantPartition, (tenant, index_name, key, table))


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The traffic of a partition by time step. `collection` is empty if the partition belongs to no sharded list."""

    partition: TenantPartition
    collection: str
    steps: Steps

    @property
    def read(self) -> float:
        """Read units a second, in the step with the most of them."""
        return max((counts.read for counts in self.steps.values()), default=0.0) / STEP_SECONDS

    @property
    def write(self) -> float:
        """Write units a second, in the step with the most of them."""
        return max((counts.write for counts in self.steps.values()), default=0.0) / STEP_SECONDS

    @property
    def throttled(self) -> int:
        return sum(counts.throttled for counts in self.steps.values())

    @property
    def units_per_read(self) -> float:
        reads = sum(counts.reads for counts in self.steps.values())
        return sum(counts.read for counts in self.steps.values()) / reads if reads else 0.0

    @property
    def share(self) -> float:
        """The share of a partition's limit that is requested, of reads or of writes, whichever is higher."""
        return partition_share(self.read, self.write)

    def since(self, step: int) -> "PartitionLoad":
        return replace(self, steps={number: counts for number, counts in self.steps.items() if number >= step})


def step_of(seconds: float) -> int:
    """Return the number of the time step. It is the same on all servers."""
    return int(seconds // STEP_SECONDS)


def sum_by_partition(loads: Iterable[PartitionLoad]) -> tuple[PartitionLoad, ...]:
    """Add up the loads of different servers."""
    sums: dict[TenantPartition, PartitionLoad] = {}
    for load in loads:
        known = sums.get(load.partition)
        sums[load.partition] = load if known is None else replace(known, steps=add_steps(known.steps, load.steps))
    return tuple(sums.values())


def add_steps(left: Steps, right: Steps) -> Steps:
    """Add step by step, so that the highest sum is of traffic at the same time."""
    none = TrafficCounts()
    return {step: left.get(step, none).plus(right.get(step, none)) for step in {**left, **right}}


def to_json(loads: Iterable[PartitionLoad]) -> str:
    """Render the loads as JSON lists without field names, which keeps the item small."""
    rows = [
        [*load.partition, load.collection, [[step, *counts] for step, counts in load.steps.items()]] for load in loads
    ]
    return orjson.dumps(rows).decode()


def from_json(text: str) -> tuple[PartitionLoad, ...]:
    return tuple(_load(*row) for row in orjson.loads(text))


def _load(tenant: str, index_name: str, key: str, table: str, collection: str, steps: list[list[Any]]) -> PartitionLoad:
    partition = TenantPartition(TenantId(tenant), index_name, key, table)
    return PartitionLoad(partition, collection, {step: TrafficCounts(*counts) for step, *counts in steps})
