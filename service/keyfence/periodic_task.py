"""`PeriodicTask`: repeats a piece of work in the background of a server."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)


class PeriodicTask:
    """Waits `interval_seconds`, runs `work`, and repeats both. It never runs the work twice at the same time.

    An exception of the work is logged. The task then continues with the next run."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], interval_seconds: float) -> None:
        self._name, self._work, self._interval_seconds = name, work, interval_seconds
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._repeat())

    async def stop(self) -> None:
        """Stops the task. A run that has started is finished first: if it were cancelled, its write could still arrive
        after later writes."""
        async with self._lock:
            if self._task:
                self._task.cancel()

    async def run_now(self) -> None:
        """Runs the work once. If a run is in progress, waits for its end and then runs the work again."""
        async with self._lock:
            await self._work()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(self._interval_seconds)
            try:
                await self.run_now()
            except Exception:
                log.exception("background_task_failed", task=self._name)
