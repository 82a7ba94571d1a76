"""Policies that decide the number of shards: a fixed number, or the autopilot."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from keyfence.hot_partitions.shard_recommendation import capped_by_tier, recommended_for_reads, recommended_shards
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from tests.benchmarks.scale.shard_buckets import page_units, query_units
from tests.benchmarks.scale.tenant import Tenant

WINDOW_SECONDS, WINDOWS = 10, 6
"""The peak of the traffic is the highest mean of the latest windows of this length."""

SETTLE_SECONDS = 30
"""The time after which every server knows of new shards."""


class ShardPolicy(Protocol):
    """The number of shards that are read and written now. `observe` is called with the traffic of every second."""

    read_shards: int
    write_shards: int

    def observe(self, second: int, writes: float, pages: float) -> None: ...


class FixedShards:
    def __init__(self, shards: int) -> None:
        self.read_shards = self.write_shards = shards

    def observe(self, second: int, writes: float, pages: float) -> None:
        pass


class Autopilot:
    """Starts with one shard. New shards are read immediately, and written once every server knows of them."""

    def __init__(self, tenant: Tenant, rates: PartitionRates) -> None:
        self.read_shards = self.write_shards = 1
        self._tier, self._rates, self._settled_at = tenant.tier, rates, 0
        self._window_writes, self._window_pages = 0.0, 0.0
        self._window_means: deque[tuple[float, float]] = deque(maxlen=WINDOWS)

    def observe(self, second: int, writes: float, pages: float) -> None:
        self._window_writes, self._window_pages = self._window_writes + writes, self._window_pages + pages
        if self.write_shards < self.read_shards and second + 1 >= self._settled_at:
            self.write_shards = self.read_shards
        if (second + 1) % WINDOW_SECONDS == 0:
            self._end_window(second + 1)

    def _end_window(self, now: int) -> None:
        self._window_means.append((self._window_writes / WINDOW_SECONDS, self._window_pages / WINDOW_SECONDS))
        self._window_writes = self._window_pages = 0.0
        target_shards = capped_by_tier(self._tier, self.read_shards, self._recommended_shards())
        if self.write_shards == self.read_shards < target_shards:
            self.read_shards, self._settled_at = target_shards, now + SETTLE_SECONDS

    def _recommended_shards(self) -> int:
        shards = self.read_shards
        peak_writes, peak_pages = (max(means) for means in zip(*self._window_means, strict=True))
        peak_read_units = peak_pages * page_units(shards)
        return max(
            recommended_shards(peak_writes, self._rates.write, shards),
            recommended_for_reads(peak_read_units, self._rates.read, shards, query_units(shards)),
        )


POLICIES: dict[str, Callable[[Tenant, PartitionRates], ShardPolicy]] = {
    "fixed N=1": lambda tenant, rates: FixedShards(1),
    "fixed N=10": lambda tenant, rates: FixedShards(10),
    "autopilot": Autopilot,
}
