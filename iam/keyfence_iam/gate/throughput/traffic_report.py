"""`TrafficReport`: the busiest partitions of the last ten seconds, and the groups that their keys belong to."""

import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.dynamodb.traffic_window import TrafficWindow
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates

WINDOW_SECONDS = 10
MAX_KEYS = 2_000
MAX_ROWS = 100
NO_GROUP = "-"

K = TypeVar("K", bound=Hashable)

GroupOf = Callable[[str], str | None]
"""Returns the group of a partition key, for example its tenant, or None."""

SplitShard = Callable[[str], tuple[str, str | None]]
"""Splits a partition key into the key of its collection and its shard, or None if it is not sharded."""


def no_group(_: str) -> str | None:
    return None


def no_shard(key: str) -> tuple[str, str | None]:
    return key, None


@dataclass(slots=True)
class Traffic:
    """Units per second on average and in the busiest second, and the number of throttled requests."""

    read: float = 0.0
    write: float = 0.0
    peak_read: float = 0.0
    peak_write: float = 0.0
    throttles: int = 0

    @property
    def weight(self) -> float:
        return self.read + self.write + self.throttles

    def load(self, rates: PartitionRates) -> float:
        """Returns the used share of the partition's limit. 1 is the limit."""
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
    """Keys without a group are reported as the group `-`."""

    def __init__(
        self,
        *,
        group_of: GroupOf = no_group,
        split_shard: SplitShard = no_shard,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._group_of, self._split_shard = group_of, split_shard
        self._partitions: TrafficWindow[Partition] = _window(now)
        self._groups: TrafficWindow[str] = _window(now)

    def record(self, units: PartitionUnits) -> None:
        read, write = (units.units, 0.0) if units.kind == "read" else (0.0, units.units)
        self._partitions.add(units.partition, read, write)
        self._groups.add(self._group(units.partition), read, write)

    def record_throttle(self, units: PartitionUnits) -> None:
        self._partitions.add(units.partition, 0.0, 0.0).throttled += 1
        self._groups.add(self._group(units.partition), 0.0, 0.0).throttled += 1

    def report(self, rates: PartitionRates) -> dict[str, Any]:
        """Returns the report as JSON: groups by their units, partitions by the share of their limit, busiest first."""
        partitions, groups = _traffic(self._partitions), _traffic(self._groups)
        partitions_of_group = Counter(map(self._group, partitions))
        shards_of_collection = Counter(map(self._collection, partitions))
        by_load = sorted(
            partitions, key=lambda one: (-partitions[one].load(rates), -partitions[one].throttles, one.key)
        )
        by_weight = sorted(groups, key=lambda one: -groups[one].weight)
        return {
            "seconds": WINDOW_SECONDS,
            "limits": {"read": rates.read, "write": rates.write, "burstSeconds": rates.burst_seconds},
            "groups": [
                {"group": group, **groups[group].as_json(), "partitions": partitions_of_group[group]}
                for group in by_weight[:MAX_ROWS]
            ],
            "partitions": [
                {
                    "table": partition.table,
                    "index": partition.index,
                    "key": partition.key,
                    "group": self._group(partition),
                    "shard": self._split_shard(partition.key)[1],
                    "shards": shards_of_collection[self._collection(partition)],
                    **partitions[partition].as_json(),
                    "load": partitions[partition].load(rates),
                }
                for partition in by_load[:MAX_ROWS]
            ],
        }

    def _group(self, partition: Partition) -> str:
        return self._group_of(partition.key) or NO_GROUP

    def _collection(self, partition: Partition) -> Partition:
        return replace(partition, key=self._split_shard(partition.key)[0])


def _window(now: Callable[[], float]) -> TrafficWindow[K]:
    return TrafficWindow(clock=now, max_keys_per_step=MAX_KEYS, step_seconds=1, steps_per_window=WINDOW_SECONDS)


def _traffic(window: TrafficWindow[K]) -> dict[K, Traffic]:
    totals: dict[K, Traffic] = {}
    for second in window.recent_sketches():
        for key, entry in second:
            total = totals.setdefault(key, Traffic())
            total.read += entry.read_units / WINDOW_SECONDS
            total.write += entry.write_units / WINDOW_SECONDS
            total.peak_read = max(total.peak_read, entry.read_units)
            total.peak_write = max(total.peak_write, entry.write_units)
            total.throttles += entry.throttled
    return totals
