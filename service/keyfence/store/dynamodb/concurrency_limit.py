"""`ConcurrencyLimit`: limits how many tasks run a section of code at the same time."""

from asyncio import CancelledError, Future, get_running_loop
from collections import deque


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
