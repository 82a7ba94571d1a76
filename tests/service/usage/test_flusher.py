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
class Usages:
    """Puts that take as long as they are told to, or break."""

    written: list[int] = field(default_factory=list)
    slow: asyncio.Event | None = None
    broken: int = 0

    async def put(self, hours: Sequence[UsageHour]) -> None:
        (hour,) = hours
        requests = hour.operations["users"].requests
        slow, self.slow = self.slow, None
        if slow:
            await slow.wait()
        if self.broken:
            self.broken -= 1
            raise RuntimeError("nobody expected that")
        self.written.append(requests)


def flushing(ledger: UsageLedger, usages: Usages, seconds: float = 10.0) -> UsageFlusher:
    return UsageFlusher(ledger, cast("Any", usages), seconds)


async def test_older_counts_are_never_written_after_newer_ones() -> None:
    ledger, usages = UsageLedger(), Usages(slow=asyncio.Event())
    released = usages.slow
    writing = flushing(ledger, usages)
    ledger.counter(ACME, "users").requests += 1
    first = asyncio.ensure_future(writing.flush())
    await asyncio.sleep(0)
    ledger.counter(ACME, "users").requests += 1
    second = asyncio.ensure_future(writing.flush())
    await asyncio.sleep(0)
    assert released
    released.set()
    await asyncio.gather(first, second)
    assert usages.written == [1, 2]


async def test_a_flush_that_raises_is_followed_by_one_that_writes() -> None:
    ledger, usages = UsageLedger(), Usages(broken=2)
    writing = flushing(ledger, usages, seconds=0.0)
    ledger.counter(ACME, "users").requests += 1
    writing.start()
    for _ in range(MAX_LOOP_STEPS):
        await asyncio.sleep(0)
    assert usages.written == [1]
    await writing.stop()
