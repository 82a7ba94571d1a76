"""Space-saving sketch per 10 seconds."""

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

from keyfence.hot_partitions.partition_load import (
    READ_LIMIT,
    STEP_SECONDS,
    STEPS_PER_WINDOW,
    WRITE_LIMIT,
    CapacityUnits,
    Partition,
    load,
    step_of,
)

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class SketchEntry:
    """What was counted for one of them since it came into the sketch, which is never more than there was.

    `weight` is never less than there was, by `error` at most."""

    weight: float = 0.0
    error: float = 0.0
    read: float = 0.0
    write: float = 0.0
    reads: int = 0
    throttled: int = 0


@dataclass(slots=True)
class SpaceSavingSketch(Generic[K]):
    """Keeps `size` of them. A newcomer takes the place of the lightest, and its weight for an error.

    So no error is more than the total divided by the size, and whoever weighs more than that is here."""

    size: int
    total: float = 0.0
    _tallies: dict[K, SketchEntry] = field(default_factory=dict)
    _lightest: list[tuple[float, int, K]] = field(default_factory=list)
    """A heap with one entry for each, by the weight that it had at some time."""
    _numbers: "count[int]" = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._tallies)

    def __iter__(self) -> Iterator[tuple[K, SketchEntry]]:
        return iter(self._tallies.items())

    def find(self, key: K) -> SketchEntry | None:
        return self._tallies.get(key)

    def add(self, key: K, weight: float) -> SketchEntry:
        found = self._tallies.get(key)
        if found is None:
            found = self._admit(key)
        found.weight += weight
        self.total += weight
        return found

    def _admit(self, key: K) -> SketchEntry:
        floor = self._make_room() if len(self._tallies) >= self.size else 0.0
        made = self._tallies[key] = SketchEntry(floor, floor)
        heappush(self._lightest, (floor, next(self._numbers), key))
        return made

    def _make_room(self) -> float:
        """Weights only grow, so that the first entry whose weight is still true is the lightest of all."""
        while True:
            weight, number, key = self._lightest[0]
            now = self._tallies[key].weight
            if now == weight:
                heappop(self._lightest)
                del self._tallies[key]
                return weight
            heapreplace(self._lightest, (now, number, key))


SIZE = 1_000
"""Partitions that are kept of each step."""


@dataclass(slots=True)
class TrafficWindow:
    """A sketch for every step; those that are too old are dropped."""

    clock: Callable[[], float] = time.time
    size: int = SIZE
    _sketches: dict[int, SpaceSavingSketch[Partition]] = field(default_factory=dict)
    _newest: int = -1

    def add(self, place: Partition, read: float, write: float) -> SketchEntry:
        step = int(self.clock() // STEP_SECONDS)
        sketch = self._sketches[self._newest] if step <= self._newest else self._turn_to(step)
        found = sketch.add(place, read / READ_LIMIT + write / WRITE_LIMIT)
        found.read += read
        found.write += write
        return found

    @property
    def now(self) -> SpaceSavingSketch[Partition]:
        """Only ever forwards: a clock that is put back counts into the step that was reached."""
        step = step_of(self.clock())
        return self._turn_to(step) if step > self._newest else self._sketches[self._newest]

    def recent(self) -> Iterator[SpaceSavingSketch[Partition]]:
        self.now  # noqa: B018  (drops what is too old)
        return iter(self._sketches.values())

    def steps(self, place: Partition) -> dict[int, CapacityUnits]:
        """What is known of it; a step in which it was not met, or did not weigh enough, is not there."""
        self.now  # noqa: B018
        found = ((step, sketch.find(place)) for step, sketch in self._sketches.items())
        return {step: CapacityUnits(one.read, one.write, one.reads, one.throttled) for step, one in found if one}

    def load(self, place: Partition) -> float:
        return sum(load(one.read, one.write) for one in self.steps(place).values())

    def _turn_to(self, step: int) -> SpaceSavingSketch[Partition]:
        kept = {old: sketch for old, sketch in self._sketches.items() if old > step - STEPS_PER_WINDOW}
        self._newest, self._sketches = step, {**kept, step: SpaceSavingSketch(self.size)}
        return self._sketches[step]
