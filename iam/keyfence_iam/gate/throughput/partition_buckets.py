"""The buckets of all partitions that are in use, of which only so many are kept."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitKind
from keyfence_iam.token_bucket import TokenBucket

KEPT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRates:
    """What one partition has in a second, and how many seconds' worth it may save up."""

    read: float = 3000.0
    write: float = 1000.0
    burst_seconds: float = 1.0

    def of(self, kind: UnitKind) -> float:
        return self.read if kind == "read" else self.write


class PartitionBuckets:
    """A partition without a bucket has all of its burst. Of too many, the one that was longest not asked for goes."""

    def __init__(self, rates: PartitionRates, now: Callable[[], float], kept: int = KEPT) -> None:
        self._rates, self._now, self._kept = rates, now, kept
        self._buckets: OrderedDict[tuple[Partition, UnitKind], TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def is_open(self, claim: PartitionUnits) -> bool:
        """Whoever is turned away asked too: a partition in debt is not forgotten while it is called upon."""
        bucket = self._buckets.get((claim.partition, claim.kind))
        if bucket is None:
            return True
        self._buckets.move_to_end((claim.partition, claim.kind))
        return bucket.available(self._now()) > 0

    def take(self, claims: Iterable[PartitionUnits]) -> None:
        for claim in claims:
            self._bucket(claim).take(claim.units, self._now())

    def give_back(self, claims: Iterable[PartitionUnits]) -> None:
        self.take(claim._replace(units=-claim.units) for claim in claims)

    def _bucket(self, claim: PartitionUnits) -> TokenBucket:
        place = (claim.partition, claim.kind)
        if place not in self._buckets:
            self._buckets[place] = self._full(claim.kind)
            if len(self._buckets) > self._kept:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(place)
        return self._buckets[place]

    def _full(self, kind: UnitKind) -> TokenBucket:
        rate = self._rates.of(kind)
        return TokenBucket.full(rate, rate * self._rates.burst_seconds, self._now())
