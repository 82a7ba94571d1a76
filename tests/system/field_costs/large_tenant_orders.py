"""Orders of a large tenant with all their items. Some are flagged, some deleted."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from keyfence.domains.orders.access_patterns import order_events, order_items, order_rows, orders
from keyfence.domains.orders.line_items import LineItem, ProductId, RequestedLine, new_line_items, order_total
from keyfence.domains.orders.model import (
    CustomerId,
    Order,
    OrderEvent,
    OrderId,
    OrderStatus,
    as_deleted,
    new_order_event,
    order_row,
    with_changes,
)
from keyfence.domains.products.model import Product
from keyfence.store.entity import Entity
from keyfence.store.ids import new_id

REGION = "EU"
FLAGGED_ORDERS, UNFLAGGED_ORDERS = 3, 1
"""The number of orders of each product. One more order is deleted."""


@dataclass(frozen=True, slots=True)
class OrderWithDetails:
    """An order with its items and events."""

    order: Order
    items: list[LineItem]
    events: list[OrderEvent]

    def stored_models(self) -> Iterator[tuple[Entity[Any], Any]]:
        ttl = self.order.ttl
        yield orders, self.order
        if ttl is None:
            yield order_rows, order_row(self.order)
        yield from ((order_items, replace(item, ttl=ttl)) for item in self.items)
        yield from ((order_events, replace(event, ttl=ttl)) for event in self.events)


def orders_of_product(customer: str, product: Product, now: datetime) -> Iterator[OrderWithDetails]:
    """Yields flagged, unflagged and deleted orders. The flagged ones are the oldest, so that a page of the oldest
    orders costs the same in every tenant."""
    for _ in range(FLAGGED_ORDERS):
        placed = _placed_order(customer, product, now - timedelta(seconds=1))
        yield _with_change(placed, with_changes(placed.order, now, flagged_at=now, flag_reason="odd"), "flagged")
    for _ in range(UNFLAGGED_ORDERS):
        yield _placed_order(customer, product, now)
    placed = _placed_order(customer, product, now)
    yield _with_change(placed, as_deleted(placed.order, now), "deleted")


def _placed_order(customer: str, product: Product, now: datetime) -> OrderWithDetails:
    id = OrderId(new_id("ord"))
    items = new_line_items(id, [RequestedLine(ProductId(product.id), 2)], [product], now)
    order = Order(
        id=id,
        customer_id=CustomerId(customer),
        status=OrderStatus.PENDING,
        region=REGION,
        totals=order_total(items, product.currency),
        created_at=now,
        updated_at=now,
    )
    return OrderWithDetails(
        order, items, [new_order_event(None, order, "placed", actor="somebody", now=now, note=None)]
    )


def _with_change(placed: OrderWithDetails, after: Order, kind: str) -> OrderWithDetails:
    event = new_order_event(placed.order, after, kind, actor="somebody", now=after.updated_at, note=None)
    return OrderWithDetails(after, placed.items, [*placed.events, event])
