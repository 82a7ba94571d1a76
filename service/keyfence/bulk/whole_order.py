"""An order with all that belongs to it."""

from dataclasses import dataclass, replace

from keyfence.domains.orders.event import OrderEvent
from keyfence.domains.orders.line_items import LineItem
from keyfence.domains.orders.model import IN_BIN, Order
from keyfence.domains.orders.recycle_bin import LINGER


@dataclass(frozen=True, slots=True)
class WholeOrder:
    """An order with its items and its events, both in their order."""

    order: Order
    items: tuple[LineItem, ...]
    events: tuple[OrderEvent, ...]


def expiring(whole: WholeOrder) -> WholeOrder:
    """With the times at which an order in the bin and its parts may go."""
    if whole.order.deleted_at is None:
        return whole
    ttl = int((whole.order.deleted_at + IN_BIN).timestamp())
    later = ttl + int(LINGER.total_seconds())
    return WholeOrder(
        replace(whole.order, ttl=ttl),
        tuple(replace(item, ttl=later) for item in whole.items),
        tuple(replace(event, ttl=later) for event in whole.events),
    )
