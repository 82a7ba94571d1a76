"""Reads, status changes, line items and history in batches."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any

from keyfence.domains.orders.access_patterns import (
    event_by_revision,
    events,
    events_of_order,
    item_by_position,
    open_orders,
    order_by_id,
    order_with_items,
    orders,
    orders_of_customer,
    orders_of_customer_in_status,
    orders_of_region,
    rows,
)
from keyfence.domains.orders.line_items import MOST_LINES, LineItem
from keyfence.domains.orders.model import (
    CustomerId,
    Order,
    OrderEvent,
    OrderId,
    OrderRow,
    OrderStatus,
    checked_note,
    checked_region,
    is_alive,
    is_purged,
    new_order_event,
    row_of,
    with_status,
)
from keyfence.errors import Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.expressions import Condition, absent, equals
from keyfence.store.ids import checked_id
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.writes import (
    ActivityNote,
    Write,
    changed_fields,
    delete,
    put,
    require_version,
    retry_if_stale,
    update_model,
)


def insert_writes(order: Order, event: OrderEvent) -> list[Write[Any]]:
    return [put(orders, order, when=absent()), put(rows, row_of(order), when=absent()), _appended(event)]


def update_writes(before: Order, after: Order, event: OrderEvent, when: Condition | None = None) -> list[Write[Any]]:
    """Bound to the state and version that were read; the row is there as long as the order is alive."""
    as_read = equals("status", before.status)
    head = update_model(orders, before, after, when=as_read & when if when else as_read)
    return [head, *_row(before, after), _appended(event)]


def _row(before: Order, after: Order) -> list[Write[Any]]:
    if is_alive(before) and is_alive(after):
        return [update_model(rows, row_of(before), row_of(after))]
    if is_alive(before):
        key = {"customer_id": before.customer_id, "created_at": before.created_at, "id": before.id}
        return [delete(rows, key, when=equals("version", before.version))]
    return [put(rows, row_of(after), when=absent())]


def _appended(event: OrderEvent) -> Write[Any]:
    return put(events, event, when=absent())


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
class OrderRepository:
    """What can be asked about orders, and the steps they take in the name of whoever acts."""

    table: Table
    by: str
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: OrderId) -> Order | None:
        order = await self.table.find(order_by_id, id=id)
        return order if order and is_alive(order) else None

    async def find_many(self, ids: Sequence[OrderId]) -> list[Order | None]:
        found = await self.table.find_many(order_by_id, [{"id": id} for id in ids])
        return [order if order and is_alive(order) else None for order in found]

    async def find_with_items(self, id: OrderId) -> tuple[Order, list[LineItem]] | None:
        """The order and all its lines, for one Query."""
        order, page = await self.table.item_collection(order_with_items, first=MOST_LINES, id=id, order_id=id)
        return (order, list(page.items[::-1])) if order and is_alive(order) else None

    async def get_including_deleted(self, id: OrderId) -> Order:
        """Also in the bin, until its time there is over."""
        order = await self.table.find(order_by_id, id=id)
        if order is None or is_purged(order, self.now()):
            raise MISSING()
        return order

    async def get(self, id: OrderId) -> Order:
        if not is_alive(order := await self.get_including_deleted(id)):
            raise DELETED()
        return order

    async def of_customer(
        self, customer: CustomerId, *, status: OrderStatus | None = None, first: int, after: str | None
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
        span = ValueRange(
            low=since and datetime.combine(since, time.min, UTC), high=until and datetime.combine(until, time.max, UTC)
        )
        return await self.table.page(
            orders_of_region, first=first, after=after, between=span, region=checked_region(region)
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
        return await retry_if_stale(lambda: self._transition(id, to, expected_version, said, also), expected_version)

    async def _transition(
        self, id: OrderId, to: OrderStatus, expected: int | None, note: str | None, also: Also
    ) -> Order:
        before = await self.get(id)
        require_version(before, expected, "order")
        after = with_status(before, to, self.now())
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
        happened = new_order_event(before, after, kind, by=self.by, at=self.now(), note=note)
        entry = ActivityNote(f"order.{kind}", after.id, changed_fields(before, after, *SHOWN))
        await self.table.write(*update_writes(before, after, happened, when), *also, note=entry)
        return after


@dataclass(frozen=True, slots=True)
class OrderDetails:
    """Lines have positions and events have revisions, so the keys of both are known without asking."""

    table: Table

    async def items_of(self, orders: Sequence[OrderRow]) -> list[list[LineItem]]:
        """The lines of each of these orders in order; one batch for all of them."""
        keys = [
            {"order_id": order.id, "position": position}
            for order in orders
            for position in range(1, order.bill.item_count + 1)
        ]
        found = iter(await self.table.find_many(item_by_position, keys))
        return [[item for _ in range(order.bill.item_count) if (item := next(found))] for order in orders]

    async def histories_of(self, orders: Sequence[OrderRow]) -> list[list[OrderEvent]]:
        """The events of each of these orders, oldest first; one batch for all of them, one Query for one."""
        if len(orders) == 1:
            return [await self.history(orders[0].id)]
        keys = [
            {"order_id": order.id, "revision": revision} for order in orders for revision in range(1, order.version + 1)
        ]
        found = iter(await self.table.find_many(event_by_revision, keys))
        return [[event for _ in range(order.version) if (event := next(found))] for order in orders]

    async def history(self, id: OrderId) -> list[OrderEvent]:
        return [event async for event in self.table.iterate_shards(events_of_order, order_id=id)]
