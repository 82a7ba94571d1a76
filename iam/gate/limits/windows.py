"""The windows of those who are busiest, of which only so many are kept."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from iam.gate.limits.window import Window

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

    def busy(self, now: float) -> Mapping[K, Window]:
        return {key: window for key, window in tuple(self._windows.items()) if window.weight(now)}

    def _shed(self, now: float) -> None:
        heavy = sorted(self.busy(now).items(), key=lambda one: one[1].weight(now), reverse=True)
        self._windows = dict(heavy[: self._kept // 2])
