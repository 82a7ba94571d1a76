"""The shards of one list, with the token buckets that the gate has for each partition."""

from collections.abc import Sequence

from keyfence_iam.dynamodb.capacity import read_units
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from keyfence_iam.token_bucket import TokenBucket

ITEMS_PER_PAGE, INDEX_ENTRY_BYTES = 20, 400


def query_units(shards: int) -> float:
    """Returns the read units that a page costs in each shard."""
    return read_units(-(-ITEMS_PER_PAGE * INDEX_ENTRY_BYTES // shards), consistent=False)


def page_units(shards: int) -> float:
    """Returns the read units that a page costs in all shards together."""
    return shards * query_units(shards)


class ShardBuckets:
    """A bucket of write units for each shard, and one bucket of read units, since pages read all shards alike.

    A write that the index throttles is not written to the table either, and costs nothing.
    """

    def __init__(self, rates: PartitionRates, shards: int, writes: float, pages: float) -> None:
        """Fills or empties each bucket, as steady traffic of `writes` and `pages` a second would."""
        self._rates = rates
        self._write_buckets = [
            _initial_bucket(rates.write, rates.burst_seconds, writes / shards) for _ in range(shards)
        ]
        self._read_bucket = _initial_bucket(rates.read, rates.burst_seconds, pages * query_units(shards))

    def __len__(self) -> int:
        return len(self._write_buckets)

    def grow(self, shards: int, now: float) -> None:
        """Adds shards. A new shard has the units of one second and no burst capacity."""
        rate, burst = self._rates.write, self._rates.write * self._rates.burst_seconds
        new_shards = range(len(self), shards)
        self._write_buckets += [TokenBucket(rate=rate, burst=burst, balance=rate, filled_at=now) for _ in new_shards]

    def write(self, requested: Sequence[float], now: float) -> float:
        """Returns how many writes succeed. `requested` has the number of writes for each shard."""
        pairs = zip(self._write_buckets, requested, strict=True)
        return sum(_take_available(bucket, writes, now) for bucket, writes in pairs)

    def read(self, pages: float, shards: int, now: float) -> float:
        """Returns how many pages are read from this many shards."""
        units = query_units(shards)
        return _take_available(self._read_bucket, pages * units, now) / units


def _initial_bucket(rate: float, burst_seconds: float, traffic: float) -> TokenBucket:
    """Returns a full bucket if the traffic is below the rate, and an empty one otherwise."""
    burst = rate * burst_seconds
    return TokenBucket(rate=rate, burst=burst, balance=burst if traffic < rate else 0.0, filled_at=-1.0)


def _take_available(bucket: TokenBucket, requested: float, now: float) -> float:
    taken = min(requested, max(0.0, bucket.available(now)))
    bucket.take(taken, now)
    return taken
