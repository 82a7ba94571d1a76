"""Orders of a large tenant with all their items. Some are flagged, some deleted."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from keyfence.domains.orders.access_patterns import order_events, order_items, order_rows, orders
from keyfence.domains.orders.line_items import LineItem, ProductId, RequestedLine, make_line_items, order_total
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
FLAGGED, PLAIN = 3, 1
"""The number of flagged and of other orders for each product. One more is deleted."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order with its lines and events."""

    order: Order
    lines: list[LineItem]
    happened: list[OrderEvent]

    def stored(self) -> Iterator[tuple[Entity[Any], Any]]:
        ttl = self.order.ttl
        yield orders, self.order
        if ttl is None:
            yield order_rows, order_row(self.order)
        yield from ((order_items, replace(line, ttl=ttl)) for line in self.lines)
        yield from ((order_events, replace(one, ttl=ttl)) for one in self.happened)


def ordered(customer: str, product: Product, now: datetime) -> Iterator[Ordered]:
    """Flags the oldest orders, so that a page of the oldest always costs the same."""
    for _ in range(FLAGGED):
        placed = _placed(customer, product, now - timedelta(seconds=1))
        yield _then(placed, with_changes(placed.order, now, flagged_at=now, flag_reason="odd"), "flagged")
    for _ in range(PLAIN):
        yield _placed(customer, product, now)
    placed = _placed(customer, product, now)
    yield _then(placed, as_deleted(placed.order, now), "deleted")


def _placed(customer: str, product: Product, now: datetime) -> Ordered:
    id = OrderId(new_id("ord"))
    lines = make_line_items(id, [RequestedLine(ProductId(product.id), 2)], [product], now)
    order = Order(
        id=id,
        customer_id=CustomerId(customer),
        status=OrderStatus.PENDING,
        region=REGION,
        totals=order_total(lines, product.currency),
        created_at=now,
        updated_at=now,
    )
    return Ordered(order, lines, [new_order_event(None, order, "placed", by="somebody", at=now, note=None)])


def _then(placed: Ordered, after: Order, kind: str) -> Ordered:
    happened = new_order_event(placed.order, after, kind, by="somebody", at=after.updated_at, note=None)
    return Ordered(after, placed.lines, [*placed.happened, happened])
