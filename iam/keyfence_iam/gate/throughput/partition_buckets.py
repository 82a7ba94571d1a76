"""`PartitionBuckets`: a token bucket for each partition that is in use."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRates:
    """Capacity units of one partition per second, and for how many seconds unused units are saved."""

    read: float = PARTITION_READ_UNITS
    write: float = PARTITION_WRITE_UNITS
    burst_seconds: float = 1.0

    def of(self, kind: UnitKind) -> float:
        return self.read if kind == "read" else self.write


class PartitionBuckets:
    """A partition without a bucket has its full burst. The least recently used bucket is dropped first."""

    def __init__(self, rates: PartitionRates, now: Callable[[], float], max_buckets: int = MAX_BUCKETS) -> None:
        self._rates, self._now, self._max_buckets = rates, now, max_buckets
        self._buckets: OrderedDict[tuple[Partition, UnitKind], TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def is_open(self, units: PartitionUnits) -> bool:
        """Whether the partition has units left. This counts as a use: a busy partition in debt is not dropped."""
        bucket = self._buckets.get((units.partition, units.kind))
        if bucket is None:
            return True
        self._buckets.move_to_end((units.partition, units.kind))
        return bucket.available(self._now()) > 0

    def take(self, used: Iterable[PartitionUnits]) -> None:
        for units in used:
            self._bucket(units).take(units.units, self._now())

    def give_back(self, unused: Iterable[PartitionUnits]) -> None:
        self.take(units._replace(units=-units.units) for units in unused)

    def _bucket(self, units: PartitionUnits) -> TokenBucket:
        key = (units.partition, units.kind)
        if key not in self._buckets:
            rate = self._rates.of(units.kind)
            self._buckets[key] = TokenBucket.full(rate, rate * self._rates.burst_seconds, self._now())
            if len(self._buckets) > self._max_buckets:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return self._buckets[key]
