"""The shards of one collection, each with the token buckets that the gate has for a partition."""

from collections.abc import Sequence

from keyfence_iam.dynamodb.capacity import read_units
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.token_bucket import TokenBucket

ITEMS, ITEM_BYTES = 20, 400
"""The items of a page, and the size of an index entry."""


def query_units(slots: int) -> float:
    """Returns the read units that a page costs in each shard."""
    return read_units(-(-ITEMS * ITEM_BYTES // slots), consistent=False)


def page_units(slots: int) -> float:
    return slots * query_units(slots)


class Slots:
    """A write that the index throttles is not written to the table either, and costs nothing."""

    def __init__(self, rates: PartitionRates, count: int, writes: float, pages: float) -> None:
        """Fills or empties the burst capacity of each shard, as steady traffic of this rate does."""
        self._rates = rates
        self._writes = [_begun(rates.write, rates.burst_seconds, writes / count) for _ in range(count)]
        self._reads = _begun(rates.read, rates.burst_seconds, pages * query_units(count))

    def __len__(self) -> int:
        return len(self._writes)

    def widen(self, count: int, now: float) -> None:
        """A new shard has its rate and no burst capacity."""
        rate, burst = self._rates.write, self._rates.write * self._rates.burst_seconds
        more = range(len(self), count)
        self._writes += [TokenBucket(rate=rate, burst=burst, balance=rate, filled_at=now) for _ in more]

    def write(self, asked: Sequence[float], now: float) -> float:
        """Returns how many of the writes of each shard succeed."""
        return sum(_taken(bucket, wanted, now) for bucket, wanted in zip(self._writes, asked, strict=True))

    def read(self, pages: float, over: int, now: float) -> float:
        """Returns how many pages are read. A page reads all shards alike, so the oldest shard decides."""
        cost = query_units(over)
        return _taken(self._reads, pages * cost, now) / cost


def _begun(rate: float, burst_seconds: float, asked: float) -> TokenBucket:
    burst = rate * burst_seconds
    return TokenBucket(rate=rate, burst=burst, balance=burst if asked < rate else 0.0, filled_at=-1.0)


def _taken(bucket: TokenBucket, wanted: float, now: float) -> float:
    taken = min(wanted, max(0.0, bucket.available(now)))
    bucket.take(taken, now)
    return taken
