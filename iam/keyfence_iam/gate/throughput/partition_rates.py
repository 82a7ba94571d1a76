"""`PartitionRates`: the capacity units of a partition per second. `PartitionBuckets`: the units that are left now."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keyfence_iam.dynamodb.capacity import (
    PARTITION_READ_UNITS,
    PARTITION_WRITE_UNITS,
    Partition,
    PartitionUnits,
    UnitKind,
)
from keyfence_iam.token_bucket import TokenBucket

MAX_BUCKETS = 20_000
"""The number of buckets in memory. The least recently used bucket is dropped first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRates:
    """How many capacity units a partition can use per second before its calls are throttled."""

    read: float = PARTITION_READ_UNITS
    write: float = PARTITION_WRITE_UNITS
    burst_seconds: float = 1.0
    """A partition can save the unused units of this many seconds, and use them later."""

    def units_per_second(self, kind: UnitKind) -> float:
        return self.read if kind == "read" else self.write


class PartitionBuckets:
    """Two token buckets for each partition in use: one for reads and one for writes.

    An unused partition has no buckets yet. All its units are left.
    """

    def __init__(self, rates: PartitionRates, now: Callable[[], float], max_buckets: int = MAX_BUCKETS) -> None:
        self._rates, self._now, self._max_buckets = rates, now, max_buckets
        self._buckets: OrderedDict[tuple[Partition, UnitKind], TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def has_units(self, units: PartitionUnits) -> bool:
        """Whether the partition has units left.

        The check counts as a use of the bucket. Otherwise the empty bucket of a throttled partition could be dropped,
        and the partition would have all its units again.
        """
        bucket = self._buckets.get((units.partition, units.kind))
        if bucket is None:
            return True
        self._buckets.move_to_end((units.partition, units.kind))
        return bucket.available(self._now()) > 0

    def take(self, cost: Iterable[PartitionUnits]) -> None:
        """Takes units, even if a partition has fewer units left. Its number of units is then negative."""
        for units in cost:
            self._bucket_of(units).take(units.units, self._now())

    def give_back(self, cost: Iterable[PartitionUnits]) -> None:
        self.take(units._replace(units=-units.units) for units in cost)

    def _bucket_of(self, units: PartitionUnits) -> TokenBucket:
        key = (units.partition, units.kind)
        if key not in self._buckets:
            rate = self._rates.units_per_second(units.kind)
            self._buckets[key] = TokenBucket.full(rate, rate * self._rates.burst_seconds, self._now())
            if len(self._buckets) > self._max_buckets:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return self._buckets[key]
