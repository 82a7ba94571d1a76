"""How fast items are read or written."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Rate:
    """So many items, or units, a second, evenly and in turn, however many wait; without a limit, at once."""

    per_second: float | None = None
    clock: Callable[[], float] = time.monotonic
    _free_at: float = 0.0

    async def wait(self, items: float) -> None:
        if pause := self.due(items):
            await asyncio.sleep(pause)

    def due(self, items: float) -> float:
        """Seconds until it is the turn of these items."""
        if self.per_second is None:
            return 0.0
        now = self.clock()
        start = max(now, self._free_at)
        self._free_at = start + items / self.per_second
        return start - now
