"""What belongs to orders, their lines and events, read for many of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from keyfence.domains.orders.access import event_by_revision, events_of_order, item_by_position
from keyfence.domains.orders.event import OrderEvent
from keyfence.domains.orders.line_items import LineItem
from keyfence.domains.orders.model import OrderId, OrderRow
from keyfence.store.table import Table


@dataclass(frozen=True, slots=True)
class Parts:
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
        return [event async for event in self.table.every(events_of_order, order_id=id)]
