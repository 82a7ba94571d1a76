"""`Pacer`: spreads work evenly over time, up to a number of items or capacity units per second."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Pacer:
    """Limits a rate. All tasks that share a pacer share its rate."""

    per_second: float | None = None
    """Items or capacity units per second. None means no limit."""
    clock: Callable[[], float] = time.monotonic
    _reserved_until: float = 0.0
    """The time, by `clock`, up to which the rate is used by the items that are reserved."""

    async def wait(self, items: float) -> None:
        """Waits until this many items may be processed."""
        if delay := self.reserve(items):
            await asyncio.sleep(delay)

    def reserve(self, items: float) -> float:
        """Reserves the next free time for this many items. Returns the seconds until that time begins."""
        if self.per_second is None:
            return 0.0
        now = self.clock()
        start = max(now, self._reserved_until)
        self._reserved_until = start + items / self.per_second
        return start - now
