"""`TrafficReport`: the busiest partitions of the last ten seconds, and the busiest groups, such as tenants."""

import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.dynamodb.traffic_window import TrafficWindow
from keyfence_iam.gate.throughput.partition_rates import PartitionRates

WINDOW_SECONDS = 10
MAX_KEYS = 2_000
"""How many partitions, and how many groups, are counted in each second: those with the most traffic."""
MAX_ROWS = 100
"""The number of partitions, and of groups, in a report."""
NO_GROUP = "-"
"""The group in the report for keys that belong to no group."""

K = TypeVar("K", bound=Hashable)

GroupOf = Callable[[str], str | None]
"""A function that returns the group of a partition key, for example its tenant, or None if the key has no group."""

SplitShard = Callable[[str], tuple[str, str | None]]
"""A function that splits a partition key into the key of its collection and the shard.

The shard is None if the key has no shard.
"""


def no_group(_: str) -> str | None:
    return None


def no_shard(key: str) -> tuple[str, str | None]:
    return key, None


@dataclass(slots=True)
class Traffic:
    """The traffic of a partition or of a group in the window."""

    read: float = 0.0
    write: float = 0.0
    """Read and write units per second, on average."""
    peak_read: float = 0.0
    peak_write: float = 0.0
    """Read and write units in the busiest second."""
    throttles: int = 0
    """The number of throttled parts of calls."""

    @property
    def weight(self) -> float:
        """The number by which groups are sorted: the sum of units per second and throttled parts of calls."""
        return self.read + self.write + self.throttles

    def load(self, rates: PartitionRates) -> float:
        """Returns the used share of the read limit or of the write limit, whichever is higher. 1 is the whole limit."""
        return max(self.read / rates.read, self.write / rates.write)

    def as_json(self) -> dict[str, Any]:
        return {
            "read": self.read,
            "write": self.write,
            "peakRead": self.peak_read,
            "peakWrite": self.peak_write,
            "throttles": self.throttles,
        }


class TrafficReport:
    """Records the traffic of partitions, and reports the busiest partitions and groups."""

    def __init__(
        self,
        *,
        group_of: GroupOf = no_group,
        split_shard: SplitShard = no_shard,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._group_of, self._split_shard = group_of, split_shard
        self._partitions: TrafficWindow[Partition] = _new_window(now)
        self._groups: TrafficWindow[str] = _new_window(now)

    def record(self, units: PartitionUnits) -> None:
        read, write = (units.units, 0.0) if units.kind == "read" else (0.0, units.units)
        self._partitions.add(units.partition, read, write)
        self._groups.add(self._group(units.partition), read, write)

    def record_throttle(self, units: PartitionUnits) -> None:
        self._partitions.add(units.partition, 0.0, 0.0).throttled += 1
        self._groups.add(self._group(units.partition), 0.0, 0.0).throttled += 1

    def report(self, rates: PartitionRates) -> dict[str, Any]:
        """Returns the report as JSON. The busiest groups and partitions come first.

        Groups are sorted by `weight`. Partitions are sorted by `load`, and with equal load by their throttles.
        """
        partitions, groups = _total_traffic(self._partitions), _total_traffic(self._groups)
        partition_count_by_group = Counter(map(self._group, partitions))
        shard_count_by_collection = Counter(map(self._collection, partitions))
        busiest_groups = sorted(groups, key=lambda group: -groups[group].weight)
        busiest_partitions = sorted(
            partitions,
            key=lambda partition: (
                -partitions[partition].load(rates),
                -partitions[partition].throttles,
                partition.key,
            ),
        )
        return {
            "seconds": WINDOW_SECONDS,
            "limits": {"read": rates.read, "write": rates.write, "burstSeconds": rates.burst_seconds},
            "groups": [
                {"group": group, **groups[group].as_json(), "partitions": partition_count_by_group[group]}
                for group in busiest_groups[:MAX_ROWS]
            ],
            "partitions": [
                {
                    "table": partition.table,
                    "index": partition.index,
                    "key": partition.key,
                    "group": self._group(partition),
                    "shard": self._split_shard(partition.key)[1],
                    "shards": shard_count_by_collection[self._collection(partition)],
                    **partitions[partition].as_json(),
                    "load": partitions[partition].load(rates),
                }
                for partition in busiest_partitions[:MAX_ROWS]
            ],
        }

    def _group(self, partition: Partition) -> str:
        return self._group_of(partition.key) or NO_GROUP

    def _collection(self, partition: Partition) -> Partition:
        """Returns the partition with the key of its collection, which is the same for all shards of the collection."""
        return replace(partition, key=self._split_shard(partition.key)[0])


def _new_window(now: Callable[[], float]) -> TrafficWindow[K]:
    return TrafficWindow(clock=now, max_keys_per_step=MAX_KEYS, step_seconds=1, steps_per_window=WINDOW_SECONDS)


def _total_traffic(window: TrafficWindow[K]) -> dict[K, Traffic]:
    """Returns the traffic of each partition or group.

    The window has one sketch for each second. A sketch has the keys with the most traffic.
    """
    totals: dict[K, Traffic] = {}
    for sketch in window.recent_sketches():
        for key, entry in sketch:
            total = totals.setdefault(key, Traffic())
            total.read += entry.read_units / WINDOW_SECONDS
            total.write += entry.write_units / WINDOW_SECONDS
            total.peak_read = max(total.peak_read, entry.read_units)
            total.peak_write = max(total.peak_write, entry.write_units)
            total.throttles += entry.throttled
    return totals
