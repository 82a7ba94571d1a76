"""`Pacer`: spreads work evenly over time, up to a number of items per second."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Pacer:
    """Limits a rate of items or units per second, evenly, whatever the number of waiting tasks. None: no limit."""

    per_second: float | None = None
    clock: Callable[[], float] = time.monotonic
    _free_at: float = 0.0

    async def wait(self, items: float) -> None:
        if delay := self.delay_for(items):
            await asyncio.sleep(delay)

    def delay_for(self, items: float) -> float:
        """Reserves the next free time for these items. Returns the seconds until then."""
        if self.per_second is None:
            return 0.0
        now = self.clock()
        start = max(now, self._free_at)
        self._free_at = start + items / self.per_second
        return start - now
