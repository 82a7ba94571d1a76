"""`RequestPriority`: a request of a tenant that exceeds its quota waits while requests of other tenants run."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit

MAX_YIELD_SECONDS = 0.025
"""How long one request waits for requests with priority, in total. The wait is limited because a tenant that exceeds
its quota must still get as much as the quota allows."""


@dataclass(slots=True)
class RequestPriority:
    """Counts the running requests that have priority. Requests without priority wait while that number is not zero."""

    _prioritized_requests: int = 0
    _waiting_requests: "set[asyncio.Future[None]]" = field(default_factory=set)

    @contextmanager
    def hold_priority(self) -> Iterator[None]:
        """Counts a request with priority while the body of the `with` statement is executed."""
        self._prioritized_requests += 1
        try:
            yield
        finally:
            self._prioritized_requests -= 1
            if not self._prioritized_requests:
                self._wake_all()

    async def yield_to_others(self, max_seconds: float) -> float:
        """Waits while requests with priority run, at most `max_seconds`. Returns how many seconds it waited."""
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        deadline = started_at + max_seconds
        while self._prioritized_requests and (remaining_seconds := deadline - loop.time()) > 0:
            wake_up: asyncio.Future[None] = loop.create_future()
            self._waiting_requests.add(wake_up)
            try:
                await asyncio.wait({wake_up}, timeout=remaining_seconds)
            finally:
                self._waiting_requests.discard(wake_up)
        return loop.time() - started_at

    def _wake_all(self) -> None:
        for wake_up in self._waiting_requests:
            if not wake_up.done():
                wake_up.set_result(None)


@dataclass(slots=True)
class RequestCallLimit:
    """Limits the concurrent DynamoDB calls of one request. Each call is made in the body of an `async with` statement,
    which first waits until the limit of the tenant allows the call.

    A request with low priority also yields to other requests, before a call is sent and before its answer is
    processed."""

    tenant_limit: ConcurrencyLimit
    """The limit that all requests of the tenant share."""
    priority: RequestPriority
    yield_seconds: float = 0.0
    """How long the request may still wait for other requests. 0 if the request has priority, or has waited enough."""

    async def yield_to_others(self) -> None:
        if self.yield_seconds:
            waited_seconds = await self.priority.yield_to_others(self.yield_seconds)
            self.yield_seconds = max(0.0, self.yield_seconds - waited_seconds)

    async def __aenter__(self) -> None:
        await self.yield_to_others()
        await self.tenant_limit.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self.tenant_limit.__aexit__()
        await self.yield_to_others()
