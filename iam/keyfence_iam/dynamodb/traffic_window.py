"""`TrafficWindow`: the capacity units of the busiest partitions in the last minute, in steps of ten seconds.

`SpaceSavingSketch` finds the heaviest keys of a stream in bounded memory (Metwally and others, 2005).
"""

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, partition_seconds

K = TypeVar("K", bound=Hashable)

STEP_SECONDS = 10
STEPS_PER_WINDOW = 6
MAX_KEYS_PER_STEP = 1_000
"""How many keys are counted in one step. If there are more, those with the least traffic are forgotten."""


class TrafficCounts(NamedTuple):
    """The traffic of one key in one step of time."""

    read_units: float = 0.0
    write_units: float = 0.0
    reads: int = 0
    """The number of reads."""
    throttled: int = 0
    """The number of throttled requests."""

    def plus(self, other: "TrafficCounts") -> "TrafficCounts":
        return TrafficCounts(
            self.read_units + other.read_units,
            self.write_units + other.write_units,
            self.reads + other.reads,
            self.throttled + other.throttled,
        )


@dataclass(slots=True)
class SketchEntry:
    """The traffic of one key since the key entered the sketch.

    `weight` can be too high, by at most `error`. The other numbers can only be too low, since they do not include
    traffic before the key entered.
    """

    weight: float = 0.0
    error: float = 0.0
    read_units: float = 0.0
    write_units: float = 0.0
    reads: int = 0
    """The number of reads."""
    throttled: int = 0
    """The number of throttled requests."""


@dataclass(slots=True)
class SpaceSavingSketch(Generic[K]):
    """Keeps at most `size` keys. If it is full, a new key replaces the lightest key.

    The new key starts with the weight of the replaced key, and remembers that weight as its error.
    No error is greater than total / size. Every key that weighs more than total / size is in the sketch.
    """

    size: int
    total: float = 0.0
    _entries: dict[K, SketchEntry] = field(default_factory=dict)
    _heap: list[tuple[float, int, K]] = field(default_factory=list)
    """One element for each key: a former or current weight of the key, a sequence number, and the key."""
    _sequence: "count[int]" = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[K, SketchEntry]]:
        return iter(self._entries.items())

    def find(self, key: K) -> SketchEntry | None:
        return self._entries.get(key)

    def add(self, key: K, weight: float) -> SketchEntry:
        """Adds to the weight of a key. Returns the key's entry, so that the caller can add to the other numbers."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._insert(key)
        entry.weight += weight
        self.total += weight
        return entry

    def _insert(self, key: K) -> SketchEntry:
        weight = self._remove_lightest() if len(self._entries) >= self.size else 0.0
        entry = self._entries[key] = SketchEntry(weight, weight)
        heappush(self._heap, (weight, next(self._sequence), key))
        return entry

    def _remove_lightest(self) -> float:
        """Removes the lightest key and returns its weight.

        The weights in the heap can be outdated, but are never too high, since weights only grow. Therefore the first
        heap element with an up-to-date weight is the lightest key.
        """
        while True:
            weight, number, key = self._heap[0]
            current_weight = self._entries[key].weight
            if current_weight == weight:
                heappop(self._heap)
                del self._entries[key]
                return weight
            heapreplace(self._heap, (current_weight, number, key))


@dataclass(slots=True)
class TrafficWindow(Generic[K]):
    """One sketch for each step of time. Sketches that are older than the window are dropped.

    The weight of a key is the time for which its units would use up the whole capacity of a partition.
    """

    clock: Callable[[], float] = time.time
    max_keys_per_step: int = MAX_KEYS_PER_STEP
    step_seconds: int = STEP_SECONDS
    steps_per_window: int = STEPS_PER_WINDOW
    _sketches_by_step: dict[int, SpaceSavingSketch[K]] = field(default_factory=dict)
    _newest_step: int = -1

    def add(self, key: K, read_units: float, write_units: float) -> SketchEntry:
        """Adds units to the current step. Returns the key's entry, so that the caller can count reads and throttles."""
        # Inlined from `current_sketch` and `partition_seconds`: the service does this for each call of DynamoDB.
        step = int(self.clock() // self.step_seconds)
        newest = self._newest_step
        sketch = self._sketches_by_step[newest] if step <= newest else self._advance_to(step)
        entry = sketch.add(key, read_units / PARTITION_READ_UNITS + write_units / PARTITION_WRITE_UNITS)
        entry.read_units += read_units
        entry.write_units += write_units
        return entry

    @property
    def current_sketch(self) -> SpaceSavingSketch[K]:
        """The sketch of the newest step. If the clock goes back, the newest step does not change."""
        step = int(self.clock() // self.step_seconds)
        return self._advance_to(step) if step > self._newest_step else self._sketches_by_step[self._newest_step]

    def recent_sketches(self) -> Iterator[SpaceSavingSketch[K]]:
        self._drop_old_steps()
        return iter(self._sketches_by_step.values())

    def counts_by_step(self, key: K) -> dict[int, TrafficCounts]:
        """Returns the traffic of a key in each step whose sketch has the key."""
        self._drop_old_steps()
        entries = ((step, sketch.find(key)) for step, sketch in self._sketches_by_step.items())
        return {
            step: TrafficCounts(entry.read_units, entry.write_units, entry.reads, entry.throttled)
            for step, entry in entries
            if entry
        }

    def load(self, key: K) -> float:
        """Returns the seconds for which the units of a key would use up the whole capacity of a partition."""
        steps = self.counts_by_step(key).values()
        return sum(partition_seconds(counts.read_units, counts.write_units) for counts in steps)

    def _drop_old_steps(self) -> None:
        step = int(self.clock() // self.step_seconds)
        if step > self._newest_step:
            self._advance_to(step)

    def _advance_to(self, step: int) -> SpaceSavingSketch[K]:
        first_step = step - self.steps_per_window + 1
        recent = {old_step: sketch for old_step, sketch in self._sketches_by_step.items() if old_step >= first_step}
        self._newest_step, self._sketches_by_step = step, {**recent, step: SpaceSavingSketch(self.max_keys_per_step)}
        return self._sketches_by_step[step]
