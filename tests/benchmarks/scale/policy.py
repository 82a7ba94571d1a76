"""Policies for the number of shards: fixed, or by traffic."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from keyfence.hot_partitions.shard_recommendation import capped_by_tier, recommended_for_reads, recommended_shards
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from tests.benchmarks.scale.slots import page_units, query_units
from tests.benchmarks.scale.tenant import Tenant

WINDOW_SECONDS, WINDOWS = 10, 6
"""A peak is the highest mean of the latest windows of this length."""

SETTLE_SECONDS = 30


class Policy(Protocol):
    """The shards to read and to write now. `observe` gets the traffic of every second."""

    read_slots: int
    write_slots: int

    def saw(self, second: int, writes: float, pages: float) -> None: ...


class Fixed:
    def __init__(self, slots: int) -> None:
        self.read_slots = self.write_slots = slots

    def saw(self, second: int, writes: float, pages: float) -> None:
        pass


class Autopilot:
    """Starts with one shard. New shards are read immediately, and written once every server knows of them."""

    def __init__(self, tenant: Tenant, rates: PartitionRates) -> None:
        self.read_slots = self.write_slots = 1
        self._tier, self._rates, self._settled_at = tenant.tier, rates, 0
        self._writes, self._pages = 0.0, 0.0
        self._peaks: deque[tuple[float, float]] = deque(maxlen=WINDOWS)

    def saw(self, second: int, writes: float, pages: float) -> None:
        self._writes, self._pages = self._writes + writes, self._pages + pages
        if self.write_slots < self.read_slots and second + 1 >= self._settled_at:
            self.write_slots = self.read_slots
        if (second + 1) % WINDOW_SECONDS == 0:
            self._look(second + 1)

    def _look(self, now: int) -> None:
        self._peaks.append((self._writes / WINDOW_SECONDS, self._pages / WINDOW_SECONDS))
        self._writes = self._pages = 0.0
        wanted = capped_by_tier(self._tier, self.read_slots, self._wanted())
        if self.write_slots == self.read_slots < wanted:
            self.read_slots, self._settled_at = wanted, now + SETTLE_SECONDS

    def _wanted(self) -> int:
        slots = self.read_slots
        writes, pages = (max(column) for column in zip(*self._peaks, strict=True))
        read = pages * page_units(slots)
        return max(
            recommended_shards(writes, self._rates.write, slots),
            recommended_for_reads(read, self._rates.read, slots, query_units(slots)),
        )


POLICIES: dict[str, Callable[[Tenant, PartitionRates], Policy]] = {
    "fixed N=1": lambda tenant, rates: Fixed(1),
    "fixed N=10": lambda tenant, rates: Fixed(10),
    "autopilot": Autopilot,
}
