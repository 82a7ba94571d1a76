"""`SpaceSavingSketch`: finds the heaviest keys of a stream in bounded memory (Metwally and others, 2005)."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


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
