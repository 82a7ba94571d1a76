"""The heaviest of many, in bounded memory: a Space-Saving sketch (Metwally, Agrawal, El Abbadi) with weights."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Tally:
    """What was counted for one of them since it came into the sketch, which is never more than there was.

    `weight` is never less than there was, by `error` at most."""

    weight: float = 0.0
    error: float = 0.0
    read: float = 0.0
    write: float = 0.0
    reads: int = 0
    throttled: int = 0


@dataclass(slots=True)
class Sketch(Generic[K]):
    """Keeps `size` of them. A newcomer takes the place of the lightest, and its weight for an error.

    So no error is more than the total divided by the size, and whoever weighs more than that is here."""

    size: int
    total: float = 0.0
    _tallies: dict[K, Tally] = field(default_factory=dict)
    _lightest: list[tuple[float, int, K]] = field(default_factory=list)
    """A heap with one entry for each, by the weight that it had at some time."""
    _numbers: "count[int]" = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._tallies)

    def __iter__(self) -> Iterator[tuple[K, Tally]]:
        return iter(self._tallies.items())

    def find(self, key: K) -> Tally | None:
        return self._tallies.get(key)

    def add(self, key: K, weight: float) -> Tally:
        found = self._tallies.get(key)
        if found is None:
            found = self._admit(key)
        found.weight += weight
        self.total += weight
        return found

    def _admit(self, key: K) -> Tally:
        floor = self._make_room() if len(self._tallies) >= self.size else 0.0
        made = self._tallies[key] = Tally(floor, floor)
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
