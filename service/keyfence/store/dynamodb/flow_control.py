"""`ConcurrencyLimit`, `Pacer`."""

import asyncio
import time
from asyncio import CancelledError, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


class ConcurrencyLimit:
    """What a semaphore does, bound to no event loop, and it tells how many wait."""

    __slots__ = ("_free", "_queue", "_width")

    def __init__(self, limit: int) -> None:
        self._width = self._free = limit
        self._queue: deque[Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return self._free == self._width

    def resize(self, limit: int) -> None:
        """Who is inside stays; a narrower lane lets nobody in until enough have left."""
        self._free += limit - self._width
        self._width = limit
        while self._free > 0 and self._queue:
            self._free -= 1
            self._pass_on()

    async def __aenter__(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: Future[None] = get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except CancelledError:
            self._leave(turn)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _leave(self, turn: "Future[None]") -> None:
        """Who gives up waiting may just have been given the place."""
        if turn in self._queue:
            self._queue.remove(turn)
        elif not turn.cancelled():
            self._pass_on()

    def _pass_on(self) -> None:
        while self._free >= 0 and self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


@dataclass(slots=True)
class Pacer:
    """So many items, or units, a second, evenly and in turn, however many wait; without a limit, at once."""

    per_second: float | None = None
    clock: Callable[[], float] = time.monotonic
    _free_at: float = 0.0

    async def wait(self, items: float) -> None:
        if pause := self.delay_for(items):
            await asyncio.sleep(pause)

    def delay_for(self, items: float) -> float:
        """Seconds until it is the turn of these items."""
        if self.per_second is None:
            return 0.0
        now = self.clock()
        start = max(now, self._free_at)
        self._free_at = start + items / self.per_second
        return start - now
