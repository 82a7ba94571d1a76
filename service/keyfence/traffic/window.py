"""The last minute of this process, step by step."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from keyfence.traffic.place import Place
from keyfence.traffic.sketch import Sketch, Tally
from keyfence.traffic.units import READ_LIMIT, STEP, STEPS, WRITE_LIMIT, Units, load, step_of

SIZE = 1_000
"""Partitions that are kept of each step."""


@dataclass(slots=True)
class Window:
    """A sketch for every step; those that are too old are dropped."""

    clock: Callable[[], float] = time.time
    size: int = SIZE
    _sketches: dict[int, Sketch[Place]] = field(default_factory=dict)
    _newest: int = -1

    def add(self, place: Place, read: float, write: float) -> Tally:
        step = int(self.clock() // STEP)
        sketch = self._sketches[self._newest] if step <= self._newest else self._turn_to(step)
        found = sketch.add(place, read / READ_LIMIT + write / WRITE_LIMIT)
        found.read += read
        found.write += write
        return found

    @property
    def now(self) -> Sketch[Place]:
        """Only ever forwards: a clock that is put back counts into the step that was reached."""
        step = step_of(self.clock())
        return self._turn_to(step) if step > self._newest else self._sketches[self._newest]

    def recent(self) -> Iterator[Sketch[Place]]:
        self.now  # noqa: B018  (drops what is too old)
        return iter(self._sketches.values())

    def steps(self, place: Place) -> dict[int, Units]:
        """What is known of it; a step in which it was not met, or did not weigh enough, is not there."""
        self.now  # noqa: B018
        found = ((step, sketch.find(place)) for step, sketch in self._sketches.items())
        return {step: Units(one.read, one.write, one.reads, one.throttled) for step, one in found if one}

    def load(self, place: Place) -> float:
        return sum(load(one.read, one.write) for one in self.steps(place).values())

    def _turn_to(self, step: int) -> Sketch[Place]:
        kept = {old: sketch for old, sketch in self._sketches.items() if old > step - STEPS}
        self._newest, self._sketches = step, {**kept, step: Sketch(self.size)}
        return self._sketches[step]
