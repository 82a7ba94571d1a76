"""`PriorityGate`: requests of tenants within their quotas go before those of tenants that exceed theirs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit

MAX_YIELD_SECONDS = 0.025
"""How long one request waits for others, in total. A tenant that exceeds its quota must still get its quota."""


@dataclass(slots=True)
class PriorityGate:
    """Counts the running requests that have priority. Other requests wait while there are any."""

    _running: int = 0
    _waiting: "set[asyncio.Future[None]]" = field(default_factory=set)

    @contextmanager
    def hold_priority(self) -> Iterator[None]:
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._wake_all()

    async def yield_to_others(self, seconds: float) -> float:
        """Wait while requests with priority run, at most this long. Returns how long it waited."""
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        deadline = started_at + seconds
        while self._running and (remaining := deadline - loop.time()) > 0:
            woken: asyncio.Future[None] = loop.create_future()
            self._waiting.add(woken)
            try:
                await asyncio.wait({woken}, timeout=remaining)
            finally:
                self._waiting.discard(woken)
        return loop.time() - started_at

    def _wake_all(self) -> None:
        for woken in self._waiting:
            if not woken.done():
                woken.set_result(None)


@dataclass(slots=True)
class CallSlot:
    """Each DynamoDB call of one request enters it, and waits for the concurrency limit of its tenant.

    A request with low priority also yields to others, before a call is sent and before its answer is processed.
    `yield_seconds` is how long it still may."""

    calls: ConcurrencyLimit
    priority: PriorityGate
    yield_seconds: float = 0.0

    async def yield_to_others(self) -> None:
        if self.yield_seconds:
            waited = await self.priority.yield_to_others(self.yield_seconds)
            self.yield_seconds = max(0.0, self.yield_seconds - waited)

    async def __aenter__(self) -> None:
        await self.yield_to_others()
        await self.calls.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self.calls.__aexit__()
        await self.yield_to_others()
