"""Space-Saving sketch (Metwally, 2005): finds the heaviest keys of a stream in bounded memory."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class SketchEntry:
    """Counts of one key since it entered the sketch.

    `weight` can be too high, by at most `error`. The other counts can only be too low.
    """

    weight: float = 0.0
    error: float = 0.0
    read: float = 0.0
    write: float = 0.0
    reads: int = 0
    throttled: int = 0


@dataclass(slots=True)
class SpaceSavingSketch(Generic[K]):
    """Keeps at most `size` keys. A new key replaces the lightest one and inherits its weight as an error.

    No error is greater than total / size, and every key that weighs more than that is in the sketch.
    """

    size: int
    total: float = 0.0
    _entries: dict[K, SketchEntry] = field(default_factory=dict)
    _heap: list[tuple[float, int, K]] = field(default_factory=list)
    """One element for each key: a weight that the key had at some time, a sequence number, the key."""
    _sequence: "count[int]" = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[K, SketchEntry]]:
        return iter(self._entries.items())

    def find(self, key: K) -> SketchEntry | None:
        return self._entries.get(key)

    def add(self, key: K, weight: float) -> SketchEntry:
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
        """Return the weight of the removed key.

        Weights only grow. Therefore the first heap element with an up-to-date weight is the lightest of all.
        """
        while True:
            weight, number, key = self._heap[0]
            current = self._entries[key].weight
            if current == weight:
                heappop(self._heap)
                del self._entries[key]
                return weight
            heapreplace(self._heap, (current, number, key))
