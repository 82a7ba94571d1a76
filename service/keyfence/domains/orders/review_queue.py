"""`ReviewQueue`: the orders that are flagged for review. Claiming an order removes it from the queue."""

import asyncio
import random
from dataclasses import dataclass
from functools import partial

from keyfence.domains.orders.access_patterns import review_queue
from keyfence.domains.orders.model import Order, OrderId, checked_flag_reason, with_changes
from keyfence.domains.orders.repository import OrderRepository
from keyfence.errors import Conflict
from keyfence.store.pagination import Page
from keyfence.store.writes import STALE_WRITE_RETRIES, StaleWrite, retry_if_stale

CLAIM_CANDIDATES = 25
"""How many of the oldest orders a claim reads from the queue at a time."""
ALREADY_FLAGGED = partial(Conflict, "the order is flagged already")


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The flagged orders of a tenant."""

    orders: OrderRepository

    async def oldest(self, *, first: int, after: str | None) -> Page[Order]:
        return await self.orders.table.page(review_queue, first=first, after=after)

    async def flag(self, id: OrderId, reason: str) -> Order:
        valid_reason = checked_flag_reason(reason)
        return await retry_if_stale(lambda: self._flag(id, valid_reason))

    async def _flag(self, id: OrderId, reason: str) -> Order:
        before, now = await self.orders.get(id), self.orders.now()
        if before.flagged_at is not None:
            raise ALREADY_FLAGGED()
        after = with_changes(before, now, flagged_at=now, flag_reason=reason, claimed_at=None, claimed_by=None)
        return await self.orders.save(before, after, "flagged", note=reason)

    async def claim(self) -> Order | None:
        """Claims the oldest order that is still flagged. Returns None if the queue is empty.

        The queue is an index, which may still list orders that were claimed a moment ago. So each order is read from
        the table before it is claimed."""
        after: str | None = None
        while True:
            page = await self.oldest(first=CLAIM_CANDIDATES, after=after)
            if claimed := await self._claim_any([order.id for order in page.items]):
                return claimed
            if not page.has_next:
                return None
            after = page.edges[-1].cursor()

    async def _claim_any(self, candidates: list[OrderId]) -> Order | None:
        """Claims one of the candidates, and returns it. Returns None if none of them is flagged any more.

        If another request changes an order at the same time, the order stays a candidate, because it may still be
        flagged. From the second such failure on, the candidates are shuffled, so that concurrent callers try different
        orders."""
        failures = 0
        while candidates:
            try:
                claimed = await self._claim(candidates[0])
            except StaleWrite:
                failures += 1
                if failures > 1:
                    random.shuffle(candidates)
                    await asyncio.sleep(STALE_WRITE_RETRIES.backoff_seconds(failures - 1))
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
        after = with_changes(
            before, now, flagged_at=None, flag_reason=None, claimed_at=now, claimed_by=self.orders.actor
        )
        return await self.orders.save(before, after, "claimed")
