"""Usage is written periodically, after failures too, and never out of order."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from keyfence.usage.hourly_usage import UsageHour
from keyfence.usage.ledger import UsageFlusher, UsageLedger
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")
MAX_LOOP_STEPS = 100
"""Steps of the event loop in which a flusher without an interval runs several times."""


@dataclass(slots=True)
class FakeUsageRepository:
    """The next put waits for `next_put_may_end`, if there is one. The next `failures` puts raise an error."""

    written_requests: list[int] = field(default_factory=list)
    next_put_may_end: asyncio.Event | None = None
    failures: int = 0

    async def put(self, hours: Sequence[UsageHour]) -> None:
        (hour,) = hours
        requests = hour.operations["users"].requests
        may_end, self.next_put_may_end = self.next_put_may_end, None
        if may_end:
            await may_end.wait()
        if self.failures:
            self.failures -= 1
            raise RuntimeError("an unexpected error")
        self.written_requests.append(requests)


def new_flusher(ledger: UsageLedger, repository: FakeUsageRepository, interval_seconds: float = 10.0) -> UsageFlusher:
    return UsageFlusher(ledger, cast("Any", repository), interval_seconds)


async def test_older_counts_are_never_written_after_newer_ones() -> None:
    ledger, repository = UsageLedger(), FakeUsageRepository(next_put_may_end=asyncio.Event())
    may_end = repository.next_put_may_end
    flusher = new_flusher(ledger, repository)
    ledger.counter(ACME, "users").requests += 1
    first = asyncio.ensure_future(flusher.flush())
    await asyncio.sleep(0)
    ledger.counter(ACME, "users").requests += 1
    second = asyncio.ensure_future(flusher.flush())
    await asyncio.sleep(0)
    assert may_end
    may_end.set()
    await asyncio.gather(first, second)
    assert repository.written_requests == [1, 2]


async def test_the_flush_after_a_failed_flush_writes() -> None:
    ledger, repository = UsageLedger(), FakeUsageRepository(failures=2)
    flusher = new_flusher(ledger, repository, interval_seconds=0.0)
    ledger.counter(ACME, "users").requests += 1
    flusher.start()
    for _ in range(MAX_LOOP_STEPS):
        await asyncio.sleep(0)
    assert repository.written_requests == [1]
    await flusher.stop()
