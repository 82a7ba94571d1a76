"""The recycle bin: deleted orders, as they were, for as long as they can be restored."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from keyfence.domains.orders.access_patterns import deleted_orders, events, items, orders
from keyfence.domains.orders.model import Order, OrderId, deleted, is_alive, is_purged, restored
from keyfence.domains.orders.repository import MISSING, OrderRepository
from keyfence.errors import Conflict
from keyfence.store.dynamodb.caller import chunks
from keyfence.store.expressions import Condition, UpdateExpression, absent, equals, present
from keyfence.store.ids import new_id
from keyfence.store.pagination import Page
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES
from keyfence.store.writes import StaleWrite, Write, check, retry_if_stale, update_attributes

DETAIL_TTL_MARGIN = timedelta(days=1)
"""How much longer than its order a part is kept, so that a restoration at the last moment finds all of them."""
NOT_DELETED = partial(Conflict, "the order is not in the recycle bin")


@dataclass(frozen=True, slots=True)
class RecycleBin:
    """Deletes and restores in the name of whoever acts.

    An order goes and comes back in one transaction. Its lines and events, which may be more than a transaction takes,
    get the time at which they may go afterwards and lose it before. Who restores holds the order's `lift`, maybe with
    others, from before the first part is freed until the order is back, and nobody marks parts of an order that is
    being lifted: so no part of a living order is ever marked."""

    orders: OrderRepository

    async def newest(self, *, first: int, after: str | None) -> Page[Order]:
        """Without those whose time is over, all of which come last."""
        page = await self.orders.table.page(deleted_orders, first=first, after=after)
        now = self.orders.now()
        edges = tuple(edge for edge in page.edges if not is_purged(edge.node, now))
        return replace(page, edges=edges, has_next=page.has_next and len(edges) == len(page.edges))

    async def delete(self, id: OrderId) -> Order:
        """A deletion that was interrupted is taken up again where it stopped."""
        order = await retry_if_stale(lambda: self._delete(id))
        await self._mark(order)
        return order

    async def _delete(self, id: OrderId) -> Order:
        before = await self.orders.get_including_deleted(id)
        if is_alive(before):
            return await self.orders.record(before, deleted(before, self.orders.now()), "deleted")
        if before.lift is not None:
            await self._write_lift(before, UpdateExpression(removes=(("lift",),)))
        return replace(before, lift=None)

    async def restore(self, id: OrderId) -> Order:
        return await retry_if_stale(lambda: self._restore(id))

    async def _restore(self, id: OrderId) -> Order:
        found = await self.orders.get_including_deleted(id)
        if is_alive(found):
            raise NOT_DELETED()
        before = found if found.lift else await self._lifted(found)
        held = equals("lift", before.lift)
        await self._write_parts(before, UpdateExpression(removes=(("ttl",),)), held)
        return await self.orders.record(before, restored(before), "restored", when=held)

    async def _lifted(self, order: Order) -> Order:
        lifted = replace(order, lift=new_id("lft"))
        await self._write_lift(lifted, UpdateExpression(sets={("lift",): lifted.lift}))
        return lifted

    async def _write_lift(self, order: Order, lift: UpdateExpression) -> None:
        still = equals("version", order.version)
        await self.orders.table.write(update_attributes(orders, {"id": order.id}, lift, when=still))

    async def _mark(self, order: Order) -> None:
        """Whoever restores the order meanwhile wins."""
        assert order.ttl is not None
        gone = UpdateExpression(sets={("ttl",): order.ttl + int(DETAIL_TTL_MARGIN.total_seconds())})
        try:
            await self._write_parts(order, gone, equals("version", order.version) & absent("lift"))
        except StaleWrite:
            return

    async def _write_parts(self, order: Order, written: UpdateExpression, when: Condition) -> None:
        guard = check(orders, {"id": order.id}, when=when & present("deletedAt"), on_failure=StaleWrite)
        for batch in chunks(list(_parts(order, written)), MAX_SPLIT_TRANSACTION_WRITES - 1):
            await self.orders.table.write(guard, *batch)


def _parts(order: Order, written: UpdateExpression) -> Iterator[Write[Any]]:
    for position in range(1, order.bill.item_count + 1):
        yield update_attributes(items, {"order_id": order.id, "position": position}, written, on_failure=MISSING)
    for revision in range(1, order.version + 1):
        yield update_attributes(events, {"order_id": order.id, "revision": revision}, written, on_failure=MISSING)
