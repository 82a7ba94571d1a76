"""The review queue: orders that somebody flagged, in the order in which they were, until somebody claims them."""

import asyncio
import random
from dataclasses import dataclass
from functools import partial
from itertools import count

from keyfence.domains.orders.access_patterns import review_queue
from keyfence.domains.orders.model import Order, OrderId, changed, checked_reason
from keyfence.domains.orders.repository import OrderRepository
from keyfence.errors import Conflict
from keyfence.store.pagination import Page
from keyfence.store.writes import STALE_WRITE_RETRIES, StaleWrite, retry_if_stale

CANDIDATES = 25
FLAGGED = partial(Conflict, "the order is flagged already")


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """Flags and claims in the name of whoever acts."""

    orders: OrderRepository

    async def queue(self, *, first: int, after: str | None) -> Page[Order]:
        return await self.orders.table.page(review_queue, first=first, after=after)

    async def flag(self, id: OrderId, reason: str) -> Order:
        said = checked_reason(reason)
        return await retry_if_stale(lambda: self._flag(id, said))

    async def _flag(self, id: OrderId, reason: str) -> Order:
        before, now = await self.orders.get(id), self.orders.now()
        if before.flagged_at is not None:
            raise FLAGGED()
        after = changed(before, now, flagged_at=now, flag_reason=reason, claimed_at=None, claimed_by=None)
        return await self.orders.record(before, after, "flagged", note=reason)

    async def claim(self) -> Order | None:
        """The oldest that can be had: the queue may still show what others have claimed, the orders themselves tell."""
        after: str | None = None
        while True:
            page = await self.queue(first=CANDIDATES, after=after)
            if claimed := await self._claim_one([order.id for order in page.items]):
                return claimed
            if not page.has_next:
                return None
            after = page.edges[-1].cursor()

    async def _claim_one(self, candidates: list[OrderId]) -> Order | None:
        """Who is too late for one looks at it again, since it may have been changed and not claimed. Who is too late
        once more goes on elsewhere than all the others who were, and comes back to it in the end."""
        late = count()
        while candidates:
            try:
                claimed = await self._claim(candidates[0])
            except StaleWrite:
                if times := next(late):
                    random.shuffle(candidates)
                    await asyncio.sleep(STALE_WRITE_RETRIES.backoff(times))
                continue
            if claimed:
                return claimed
            del candidates[0]
        return None

    async def _claim(self, id: OrderId) -> Order | None:
        before = await self.orders.find(id)
        if before is None or before.flagged_at is None:
            return None
        now = self.orders.now()
        after = changed(before, now, flagged_at=None, flag_reason=None, claimed_at=now, claimed_by=self.orders.by)
        return await self.orders.record(before, after, "claimed")
