"""`OrderRepository`: reads and changes the orders of one tenant. `OrderDetails`: reads items and events of orders."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from keyfence.domains.orders.access_patterns import (
    event_by_revision,
    events_of_order,
    item_by_position,
    open_orders,
    order_by_id,
    order_events,
    order_rows,
    order_with_items,
    orders,
    orders_of_customer,
    orders_of_customer_in_status,
    orders_of_region,
)
from keyfence.domains.orders.line_items import MAX_LINES, LineItem
from keyfence.domains.orders.model import (
    CustomerId,
    Order,
    OrderEvent,
    OrderId,
    OrderRow,
    OrderStatus,
    checked_note,
    checked_region,
    has_expired,
    is_alive,
    new_order_event,
    order_row,
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
    return [put(orders, order, when=absent()), put(order_rows, order_row(order), when=absent()), _event_write(event)]


def update_writes(before: Order, after: Order, event: OrderEvent, when: Condition | None = None) -> list[Write[Any]]:
    """Returns the writes of a change. They require that the order still has the status and the version of `before`."""
    has_same_status = equals("status", before.status)
    order_update = update_model(orders, before, after, when=has_same_status & when if when else has_same_status)
    return [order_update, *_row_writes(before, after), _event_write(event)]


def _row_writes(before: Order, after: Order) -> list[Write[Any]]:
    """Returns the write that updates, deletes or adds the order's row. A deleted order has no row."""
    if is_alive(before) and is_alive(after):
        return [update_model(order_rows, order_row(before), order_row(after))]
    if is_alive(before):
        key = {"customer_id": before.customer_id, "created_at": before.created_at, "id": before.id}
        return [delete(order_rows, key, when=equals("version", before.version))]
    return [put(order_rows, order_row(after), when=absent())]


def _event_write(event: OrderEvent) -> Write[Any]:
    return put(order_events, event, when=absent())


M = TypeVar("M")

ORDER_NOT_FOUND = partial(NotFound, "no such order")
ORDER_IS_DELETED = partial(Conflict, "the order is in the recycle bin; restore it first")
LOGGED_FIELDS = ("status", "flagged_at", "flag_reason", "claimed_by", "deleted_at")

ExtraWrites = Callable[[Order, Order], Awaitable[Sequence[Write[Any]]]]
"""A function that returns further writes for the transaction of a status change. It receives the order before and after
the change."""


def checked_order_id(text: str, field: str = "id") -> OrderId:
    return OrderId(checked_id("ord", text, field))


async def no_extra_writes(_before: Order, _after: Order) -> Sequence[Write[Any]]:
    return ()


@dataclass(frozen=True, slots=True)
class OrderRepository:
    """The orders of the tenant that the table belongs to. The events of changes record the `actor`."""

    table: Table
    actor: str
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: OrderId) -> Order | None:
        order = await self.table.find(order_by_id, id=id)
        return order if order and is_alive(order) else None

    async def find_many(self, ids: Sequence[OrderId]) -> list[Order | None]:
        found = await self.table.find_many(order_by_id, [{"id": id} for id in ids])
        return [order if order and is_alive(order) else None for order in found]

    async def find_with_items(self, id: OrderId) -> tuple[Order, list[LineItem]] | None:
        """Reads the order and all its items by one Query."""
        order, page = await self.table.item_collection(order_with_items, first=MAX_LINES, id=id, order_id=id)
        return (order, list(page.items[::-1])) if order and is_alive(order) else None

    async def get_including_deleted(self, id: OrderId) -> Order:
        """Returns an order that may be in the recycle bin. Raises NotFound if it has expired or does not exist."""
        order = await self.table.find(order_by_id, id=id)
        if order is None or has_expired(order, self.now()):
            raise ORDER_NOT_FOUND()
        return order

    async def get(self, id: OrderId) -> Order:
        if not is_alive(order := await self.get_including_deleted(id)):
            raise ORDER_IS_DELETED()
        return order

    async def of_customer(
        self, customer: CustomerId, *, status: OrderStatus | None = None, first: int, after: str | None
    ) -> Page[OrderRow]:
        if status is None:
            return await self.table.page(orders_of_customer, first=first, after=after, customer_id=customer)
        return await self.table.page(
            orders_of_customer_in_status, first=first, after=after, customer_id=customer, status=status
        )

    async def open_orders(self, *, first: int, after: str | None) -> Page[OrderRow]:
        return await self.table.page(open_orders, first=first, after=after)

    async def of_region(
        self, region: str, *, since: date | None = None, until: date | None = None, first: int, after: str | None
    ) -> Page[OrderRow]:
        """Returns the orders that were placed from the day `since` to the day `until`. Both days are in UTC and are
        included."""
        period = ValueRange(
            low=since and datetime.combine(since, time.min, UTC), high=until and datetime.combine(until, time.max, UTC)
        )
        return await self.table.page(
            orders_of_region, first=first, after=after, between=period, region=checked_region(region)
        )

    async def transition(
        self,
        id: OrderId,
        status: OrderStatus,
        *,
        expected_version: int | None = None,
        note: str | None = None,
        extra_writes: ExtraWrites = no_extra_writes,
    ) -> Order:
        valid_note = checked_note(note)
        return await retry_if_stale(lambda: self._transition(id, status, expected_version, valid_note, extra_writes))

    async def _transition(
        self,
        id: OrderId,
        status: OrderStatus,
        expected_version: int | None,
        note: str | None,
        extra_writes: ExtraWrites,
    ) -> Order:
        before = await self.get(id)
        require_version(before, expected_version, "order")
        after = with_status(before, status, self.now())
        return await self.save(before, after, "transitioned", note=note, extra_writes=await extra_writes(before, after))

    async def save(
        self,
        before: Order,
        after: Order,
        kind: str,
        *,
        note: str | None = None,
        when: Condition | None = None,
        extra_writes: Sequence[Write[Any]] = (),
    ) -> Order:
        """Writes a change with its event and its activity note. Raises StaleWrite if another request has changed the
        order since `before` was read."""
        event = new_order_event(before, after, kind, actor=self.actor, now=self.now(), note=note)
        activity = ActivityNote(f"order.{kind}", after.id, changed_fields(before, after, *LOGGED_FIELDS))
        await self.table.write(*update_writes(before, after, event, when), *extra_writes, note=activity)
        return after


@dataclass(frozen=True, slots=True)
class OrderDetails:
    """Reads items and events of orders.

    Their keys are computed without a Query: an order has one item for each position, and one event for each version."""

    table: Table

    async def items_of(self, orders: Sequence[OrderRow]) -> list[list[LineItem]]:
        """Returns the items of each order, sorted by position. Reads all of them in one batch."""
        keys = [
            {"order_id": order.id, "position": position}
            for order in orders
            for position in range(1, order.totals.item_count + 1)
        ]
        items = await self.table.find_many(item_by_position, keys)
        return _split(items, [order.totals.item_count for order in orders])

    async def histories_of(self, orders: Sequence[OrderRow]) -> list[list[OrderEvent]]:
        """Returns the events of each order, oldest first.

        Reads the events of a single order by a Query, and the events of several orders in one batch."""
        if len(orders) == 1:
            return [await self.history(orders[0].id)]
        keys = [
            {"order_id": order.id, "revision": revision} for order in orders for revision in range(1, order.version + 1)
        ]
        events = await self.table.find_many(event_by_revision, keys)
        return _split(events, [order.version for order in orders])

    async def history(self, id: OrderId) -> list[OrderEvent]:
        return [event async for event in self.table.iterate_shards(events_of_order, order_id=id)]


def _split(models: Sequence[M | None], lengths: Sequence[int]) -> list[list[M]]:
    """Splits the models into consecutive parts of these lengths, and leaves out None."""
    remaining = iter(models)
    return [[model for model in islice(remaining, length) if model is not None] for length in lengths]
