"""`PeriodicTask`: work that a server repeats in the background."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)


class PeriodicTask:
    """Repeats `work` every `seconds`, and never runs it twice at the same time.

    An exception is logged, and the work is repeated all the same."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._name, self._work, self._seconds = name, work, seconds
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._repeat())

    async def stop(self) -> None:
        """Stop, after the end of a run that has started. Interrupted, its write could arrive after later ones."""
        async with self._lock:
            if self._task:
                self._task.cancel()

    async def run_now(self) -> None:
        """Run the work once. If it is running, wait and run it again."""
        async with self._lock:
            await self._work()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self.run_now()
            except Exception:
                log.exception("background_task_failed", task=self._name)
