"""`RecycleBin`: deletes orders, and restores deleted orders within 30 days."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from keyfence.domains.orders.access_patterns import deleted_orders, order_events, order_items, orders
from keyfence.domains.orders.model import Order, OrderId, as_deleted, as_restored, has_expired, is_alive
from keyfence.domains.orders.repository import ORDER_NOT_FOUND, OrderRepository
from keyfence.errors import Conflict
from keyfence.store.dynamodb.batches import chunks
from keyfence.store.expressions import Condition, UpdateExpression, absent, equals, present
from keyfence.store.ids import new_id
from keyfence.store.pagination import Page
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES
from keyfence.store.writes import StaleWrite, Write, check, retry_if_stale, update_attributes

DETAIL_TTL_MARGIN = timedelta(days=1)
"""Items and events expire this much later than their order, so that a restore at the last moment finds all of them."""
NOT_DELETED = partial(Conflict, "the order is not in the recycle bin; it needs no restore")


@dataclass(frozen=True, slots=True)
class RecycleBin:
    """The deleted orders of a tenant.

    The order itself is deleted or restored in one transaction. Its items and events may be too many for a transaction.
    So their time to live (TTL) is set after the order was deleted, and removed before the order is restored.

    A restore first sets `restore_lock` on the order. While the lock is set, a concurrent delete cannot set the TTL of
    items and events. So an order that is not deleted never has items or events that expire."""

    orders: OrderRepository

    async def newest(self, *, first: int, after: str | None) -> Page[Order]:
        """Returns deleted orders, latest deletion first. Leaves out expired orders, which are last in the list."""
        page = await self.orders.table.page(deleted_orders, first=first, after=after)
        now = self.orders.now()
        edges = tuple(edge for edge in page.edges if not has_expired(edge.node, now))
        return replace(page, edges=edges, has_next=page.has_next and len(edges) == len(page.edges))

    async def delete(self, id: OrderId) -> Order:
        """Moves an order to the recycle bin. Can be repeated after a failure."""
        order = await retry_if_stale(lambda: self._delete(id))
        await self._expire_details(order)
        return order

    async def _delete(self, id: OrderId) -> Order:
        before = await self.orders.get_including_deleted(id)
        if is_alive(before):
            return await self.orders.save(before, as_deleted(before, self.orders.now()), "deleted")
        if before.restore_lock is not None:  # a restore was interrupted
            await self._change_lock(before, UpdateExpression(removes=(("restoreLock",),)))
        return replace(before, restore_lock=None)

    async def restore(self, id: OrderId) -> Order:
        return await retry_if_stale(lambda: self._restore(id))

    async def _restore(self, id: OrderId) -> Order:
        found = await self.orders.get_including_deleted(id)
        if is_alive(found):
            raise NOT_DELETED()
        before = found if found.restore_lock else await self._lock(found)
        is_locked = equals("restoreLock", before.restore_lock)
        await self._update_details(before, UpdateExpression(removes=(("ttl",),)), is_locked)
        return await self.orders.save(before, as_restored(before), "restored", when=is_locked)

    async def _lock(self, order: Order) -> Order:
        locked = replace(order, restore_lock=new_id("lck"))
        await self._change_lock(locked, UpdateExpression(sets={("restoreLock",): locked.restore_lock}))
        return locked

    async def _change_lock(self, order: Order, change: UpdateExpression) -> None:
        """Sets or removes the restore lock. Raises StaleWrite if another request has changed the order meanwhile."""
        is_unchanged = equals("version", order.version)
        await self.orders.table.write(update_attributes(orders, {"id": order.id}, change, when=is_unchanged))

    async def _expire_details(self, order: Order) -> None:
        """Sets the time to live of items and events. Does nothing if another request is restoring the order."""
        assert order.ttl is not None
        expire = UpdateExpression(sets={("ttl",): order.ttl + int(DETAIL_TTL_MARGIN.total_seconds())})
        try:
            await self._update_details(order, expire, equals("version", order.version) & absent("restoreLock"))
        except StaleWrite:
            return

    async def _update_details(self, order: Order, change: UpdateExpression, when: Condition) -> None:
        check_deleted = check(orders, {"id": order.id}, when=when & present("deletedAt"), on_failure=StaleWrite)
        for batch in chunks(list(_detail_updates(order, change)), MAX_SPLIT_TRANSACTION_WRITES - 1):
            await self.orders.table.write(check_deleted, *batch)


def _detail_updates(order: Order, change: UpdateExpression) -> Iterator[Write[Any]]:
    for position in range(1, order.totals.item_count + 1):
        yield update_attributes(
            order_items, {"order_id": order.id, "position": position}, change, on_failure=ORDER_NOT_FOUND
        )
    for revision in range(1, order.version + 1):
        yield update_attributes(
            order_events, {"order_id": order.id, "revision": revision}, change, on_failure=ORDER_NOT_FOUND
        )
