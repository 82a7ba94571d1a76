"""`ConcurrencyLimit`: limits how many tasks run a section of code at the same time."""

from asyncio import CancelledError, Future, get_running_loop
from collections import deque


class ConcurrencyLimit:
    """A semaphore for `async with`, first come, first served.

    Unlike asyncio.Semaphore it belongs to no event loop, its limit can change, and it can report how many tasks wait.
    """

    __slots__ = ("_free", "_limit", "_waiters")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = limit
        """How many more tasks may enter. It is negative while more tasks are inside than a lowered limit allows."""
        self._waiters: deque[Future[None]] = deque()

    @property
    def waiting_count(self) -> int:
        """The number of tasks that wait to enter."""
        return len(self._waiters)

    @property
    def is_idle(self) -> bool:
        """Whether no task is inside."""
        return self._free == self._limit

    def resize(self, limit: int) -> None:
        """Changes the limit. No task is thrown out: if too many are inside, no task enters until enough have left."""
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
        """Removes a cancelled waiter. If the waiter was admitted just before, its place goes to the next waiter."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif not waiter.cancelled():
            self._release()

    def _release(self) -> None:
        """Gives one place to the first task that still waits, or frees the place if no task waits.

        If more tasks are inside than a lowered limit allows, no task gets the place."""
        while self._free >= 0 and self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
