"""How calls are slowed down: `RetryPolicy` between attempts, `ConcurrencyLimit` and `Pacer` before them."""

import asyncio
import random
import time
from asyncio import CancelledError, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and how long the pauses between attempts can be, in seconds."""

    attempts: int = 6
    first_pause: float = 0.025
    longest_pause: float = 1.0

    def backoff(self, attempt: int) -> float:
        """Returns the pause after an attempt, counted from 0: random, up to a limit that doubles with every attempt."""
        return random.uniform(0, min(self.longest_pause, self.first_pause * 2**attempt))  # noqa: S311


BATCH_RETRIES = RetryPolicy(attempts=12, first_pause=0.05, longest_pause=5.0)
"""For work that no client waits for, such as jobs and imports."""


class ConcurrencyLimit:
    """A semaphore that is bound to no event loop, can change its limit, and knows how many wait for it."""

    __slots__ = ("_free", "_limit", "_waiters")

    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._waiters: deque[Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    @property
    def is_idle(self) -> bool:
        return self._free == self._limit

    def resize(self, limit: int) -> None:
        """Changes the limit. With a lower one, nobody enters until enough have left."""
        self._free += limit - self._limit
        self._limit = limit
        while self._free > 0 and self._waiters:
            self._free -= 1
            self._release()

    async def __aenter__(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        waiter: Future[None] = get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except CancelledError:
            self._cancel(waiter)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _cancel(self, waiter: "Future[None]") -> None:
        """Removes a waiter. If it was admitted just before it was cancelled, the next waiter is admitted instead."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif not waiter.cancelled():
            self._release()

    def _release(self) -> None:
        while self._free >= 0 and self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1


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
