"""The slots of one tenant's collection, each with the limits of a partition: the gate's own buckets."""

from collections.abc import Sequence

from keyfence_iam.dynamodb.capacity import read_units
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.token_bucket import TokenBucket

ITEMS, ITEM_BYTES = 20, 400
"""A page, and what one of its items weighs in the index."""


def query_units(slots: int) -> float:
    """What one slot's part of a page costs."""
    return read_units(-(-ITEMS * ITEM_BYTES // slots), consistent=False)


def page_units(slots: int) -> float:
    return slots * query_units(slots)


class Slots:
    """What the index turns away is not written to the table either, and costs nothing."""

    def __init__(self, rates: PartitionRates, count: int, writes: float, pages: float) -> None:
        """As if it had asked for so much all day: what each saved up is all or nothing."""
        self._rates = rates
        self._writes = [_begun(rates.write, rates.burst_seconds, writes / count) for _ in range(count)]
        self._reads = _begun(rates.read, rates.burst_seconds, pages * query_units(count))

    def __len__(self) -> int:
        return len(self._writes)

    def widen(self, count: int, now: float) -> None:
        """A new slot has its rate and has saved up nothing."""
        rate, burst = self._rates.write, self._rates.write * self._rates.burst_seconds
        more = range(len(self), count)
        self._writes += [TokenBucket(rate=rate, burst=burst, balance=rate, filled_at=now) for _ in more]

    def write(self, asked: Sequence[float], now: float) -> float:
        """How many of the writes, given by slot, are carried out."""
        return sum(_taken(bucket, wanted, now) for bucket, wanted in zip(self._writes, asked, strict=True))

    def read(self, pages: float, over: int, now: float) -> float:
        """How many pages are read. Each asks every slot alike, so that the slot that read longest speaks for all."""
        cost = query_units(over)
        return _taken(self._reads, pages * cost, now) / cost


def _begun(rate: float, burst_seconds: float, asked: float) -> TokenBucket:
    burst = rate * burst_seconds
    return TokenBucket(rate=rate, burst=burst, balance=burst if asked < rate else 0.0, filled_at=-1.0)


def _taken(bucket: TokenBucket, wanted: float, now: float) -> float:
    taken = min(wanted, max(0.0, bucket.available(now)))
    bucket.take(taken, now)
    return taken
