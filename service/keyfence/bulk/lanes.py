"""Turns: things that meet are done one after the other, in the order in which they came."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable
from contextlib import asynccontextmanager


class Lanes:
    """Who touches what somebody before touches waits for them; everybody else does not."""

    def __init__(self, at_once: int) -> None:
        self._last: dict[Hashable, asyncio.Future[None]] = {}
        self._slots = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def turn(self, touches: Iterable[Hashable]) -> AsyncIterator[None]:
        touched, done = set(touches), asyncio.get_running_loop().create_future()
        before = {self._last[thing] for thing in touched if thing in self._last}
        self._last.update(dict.fromkeys(touched, done))
        try:
            if before:
                await asyncio.wait(before)
            async with self._slots:
                yield
        finally:
            done.set_result(None)
