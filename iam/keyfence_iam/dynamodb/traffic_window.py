"""Capacity units by partition in a sliding window of time steps."""

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, partition_seconds
from keyfence_iam.dynamodb.heavy_hitters import SketchEntry, SpaceSavingSketch

K = TypeVar("K", bound=Hashable)

STEP_SECONDS = 10
STEPS_PER_WINDOW = 6
MAX_KEYS_PER_STEP = 1_000


class TrafficCounts(NamedTuple):
    """Capacity units that calls requested, the number of reads, and the number of throttled requests."""

    read: float = 0.0
    write: float = 0.0
    reads: int = 0
    throttled: int = 0

    def plus(self, other: "TrafficCounts") -> "TrafficCounts":
        return TrafficCounts(
            self.read + other.read,
            self.write + other.write,
            self.reads + other.reads,
            self.throttled + other.throttled,
        )


@dataclass(slots=True)
class TrafficWindow(Generic[K]):
    """One sketch for each step of time. Sketches that are older than the window are dropped.

    A key weighs as much as the time for which its units would occupy a whole partition.
    """

    clock: Callable[[], float] = time.time
    size: int = MAX_KEYS_PER_STEP
    step_seconds: int = STEP_SECONDS
    steps_kept: int = STEPS_PER_WINDOW
    _sketches: dict[int, SpaceSavingSketch[K]] = field(default_factory=dict)
    _newest: int = -1

    def add(self, key: K, read: float, write: float) -> SketchEntry:
        step = int(self.clock() // self.step_seconds)
        sketch = self._sketches[self._newest] if step <= self._newest else self._advance_to(step)
        entry = sketch.add(key, read / PARTITION_READ_UNITS + write / PARTITION_WRITE_UNITS)
        entry.read += read
        entry.write += write
        return entry

    @property
    def current(self) -> SpaceSavingSketch[K]:
        """The sketch of the newest step. If the clock goes back, this stays the step that was reached."""
        step = int(self.clock() // self.step_seconds)
        return self._advance_to(step) if step > self._newest else self._sketches[self._newest]

    def recent(self) -> Iterator[SpaceSavingSketch[K]]:
        self._drop_old()
        return iter(self._sketches.values())

    def steps(self, key: K) -> dict[int, TrafficCounts]:
        """Return the counts of a key by step. Steps in which no sketch has the key are left out."""
        self._drop_old()
        found = ((step, sketch.find(key)) for step, sketch in self._sketches.items())
        return {step: TrafficCounts(one.read, one.write, one.reads, one.throttled) for step, one in found if one}

    def load(self, key: K) -> float:
        return sum(partition_seconds(one.read, one.write) for one in self.steps(key).values())

    def _drop_old(self) -> None:
        step = int(self.clock() // self.step_seconds)
        if step > self._newest:
            self._advance_to(step)

    def _advance_to(self, step: int) -> SpaceSavingSketch[K]:
        kept = {old: sketch for old, sketch in self._sketches.items() if old > step - self.steps_kept}
        self._newest, self._sketches = step, {**kept, step: SpaceSavingSketch(self.size)}
        return self._sketches[step]
