"""The windows of those who are busiest, of which only so many are kept."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from keyfence_iam.gate.throughput.window import Sum, Window

K = TypeVar("K", bound=Hashable)

KEPT = 2_000


class Windows(Generic[K]):
    """When there are too many, the quiet ones go, and then the lighter half: what is heavy stays."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._windows: dict[K, Window] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def of(self, key: K, now: float) -> Window:
        found = self._windows.get(key)
        if found is None:
            if len(self._windows) >= self._kept:
                self._shed(now)
            found = self._windows[key] = Window()
        return found

    def busy(self, now: float) -> dict[K, Sum]:
        """The heaviest first."""
        found = {key: total for key, window in self._windows.items() if (total := window.sum(now))}
        return dict(sorted(found.items(), key=lambda one: one[1].weight, reverse=True))

    def _shed(self, now: float) -> None:
        heavy = list(self.busy(now))[: self._kept // 2]
        self._windows = {key: self._windows[key] for key in heavy}
