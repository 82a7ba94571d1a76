"""Orders of the tenant that the table at hand belongs to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any

from keyfence.domains.orders.access import (
    open_orders,
    order_by_id,
    order_with_items,
    orders_of_customer,
    orders_of_customer_in_status,
    orders_of_region,
)
from keyfence.domains.orders.change import writes
from keyfence.domains.orders.event import event
from keyfence.domains.orders.line_items import MOST_LINES, LineItem
from keyfence.domains.orders.model import (
    BuyerId,
    Order,
    OrderId,
    OrderRow,
    OrderStatus,
    checked_note,
    checked_region,
    is_alive,
    is_purged,
    stepped,
)
from keyfence.errors import Conflict, NotFound
from keyfence.store import clock
from keyfence.store.expressions import Condition
from keyfence.store.ids import checked_id
from keyfence.store.note import Note, differences
from keyfence.store.pagination import Page
from keyfence.store.retry import unless_stale
from keyfence.store.stretch import Span
from keyfence.store.table import Table
from keyfence.store.write import Write

MISSING = partial(NotFound, "no such order")
DELETED = partial(Conflict, "the order is in the recycle bin; restore it first")
SHOWN = ("status", "flagged_at", "flag_reason", "claimed_by", "deleted_at")

Also = Callable[[Order, Order], Awaitable[Sequence[Write[Any]]]]
"""What else belongs into the transaction of a step, seeing the order before and after it."""


def order_id(text: str, field: str = "id") -> OrderId:
    return OrderId(checked_id("ord", text, field))


async def nothing(_before: Order, _after: Order) -> Sequence[Write[Any]]:
    return ()


@dataclass(frozen=True, slots=True)
class Orders:
    """What can be asked about orders, and the steps they take in the name of whoever acts."""

    table: Table
    by: str
    now: Callable[[], datetime] = clock.now

    async def find(self, id: OrderId) -> Order | None:
        order = await self.table.find(order_by_id, id=id)
        return order if order and is_alive(order) else None

    async def find_many(self, ids: Sequence[OrderId]) -> list[Order | None]:
        found = await self.table.find_many(order_by_id, [{"id": id} for id in ids])
        return [order if order and is_alive(order) else None for order in found]

    async def find_with_items(self, id: OrderId) -> tuple[Order, list[LineItem]] | None:
        """The order and all its lines, for one Query."""
        order, page = await self.table.family(order_with_items, first=MOST_LINES, id=id, order_id=id)
        return (order, list(page.items[::-1])) if order and is_alive(order) else None

    async def get_anywhere(self, id: OrderId) -> Order:
        """Also in the bin, until its time there is over."""
        order = await self.table.find(order_by_id, id=id)
        if order is None or is_purged(order, self.now()):
            raise MISSING()
        return order

    async def get(self, id: OrderId) -> Order:
        if not is_alive(order := await self.get_anywhere(id)):
            raise DELETED()
        return order

    async def of_customer(
        self, customer: BuyerId, *, status: OrderStatus | None = None, first: int, after: str | None
    ) -> Page[OrderRow]:
        if status is None:
            return await self.table.page(orders_of_customer, first=first, after=after, customer_id=customer)
        return await self.table.page(
            orders_of_customer_in_status, first=first, after=after, customer_id=customer, status=status
        )

    async def still_open(self, *, first: int, after: str | None) -> Page[OrderRow]:
        return await self.table.page(open_orders, first=first, after=after)

    async def of_region(
        self, region: str, *, since: date | None = None, until: date | None = None, first: int, after: str | None
    ) -> Page[OrderRow]:
        """Placed on these days of UTC or between them."""
        span = Span(
            low=since and datetime.combine(since, time.min, UTC), high=until and datetime.combine(until, time.max, UTC)
        )
        return await self.table.page(
            orders_of_region, first=first, after=after, span=span, region=checked_region(region)
        )

    async def transition(
        self,
        id: OrderId,
        to: OrderStatus,
        *,
        expected_version: int | None = None,
        note: str | None = None,
        also: Also = nothing,
    ) -> Order:
        said = checked_note(note)
        return await unless_stale(lambda: self._transition(id, to, expected_version, said, also), expected_version)

    async def _transition(
        self, id: OrderId, to: OrderStatus, expected: int | None, note: str | None, also: Also
    ) -> Order:
        before = await self.get(id)
        if expected is not None and before.version != expected:
            raise Conflict(f"the order is at version {before.version}, not {expected}", version=before.version)
        after = stepped(before, to, self.now())
        return await self.record(before, after, "transitioned", note=note, also=await also(before, after))

    async def record(
        self,
        before: Order,
        after: Order,
        kind: str,
        *,
        note: str | None = None,
        when: Condition | None = None,
        also: Sequence[Write[Any]] = (),
    ) -> Order:
        """The change with its event and its entry in the journal, if nobody changed the order in between."""
        happened = event(before, after, kind, by=self.by, at=self.now(), note=note)
        entry = Note(f"order.{kind}", after.id, differences(before, after, *SHOWN))
        await self.table.write(*writes(before, after, happened, when), *also, note=entry)
        return after
