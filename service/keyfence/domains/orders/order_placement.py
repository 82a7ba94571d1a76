"""`OrderPlacement`: places an order in one transaction, once for each idempotency key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.orders.access_patterns import (
    customer_refs,
    idempotency_keys,
    order_by_id,
    order_by_idempotency_key,
    order_items,
)
from keyfence.domains.orders.idempotency_key import (
    IdempotencyKey,
    checked_key,
    is_expired,
    new_idempotency_key,
    request_fingerprint,
)
from keyfence.domains.orders.line_items import (
    FindProducts,
    LineItem,
    PricedProduct,
    RequestedLine,
    checked_lines,
    checked_products,
    new_line_items,
    order_total,
)
from keyfence.domains.orders.model import (
    CustomerId,
    Order,
    OrderId,
    OrderStatus,
    checked_region,
    is_alive,
    new_order_event,
)
from keyfence.domains.orders.repository import ORDER_NOT_FOUND, insert_writes
from keyfence.errors import BadInput, Conflict
from keyfence.store import timestamps
from keyfence.store.expressions import absent, equals, present
from keyfence.store.ids import new_id
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, Write, check, put, retry_if_stale

CUSTOMER_NOT_FOUND = partial(BadInput, "no such customer", field="customerId")
KEY_REUSED = partial(
    Conflict, "another order was placed with this idempotencyKey; use a new key", field="idempotencyKey"
)
ORDER_IN_BIN = partial(
    Conflict,
    "the order placed with this idempotencyKey was deleted; restore it, or use a new key",
    field="idempotencyKey",
)


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """A checked request to place an order."""

    customer_id: CustomerId
    region: str
    lines: tuple[RequestedLine, ...]
    idempotency_key: str | None

    @property
    def fingerprint(self) -> str:
        return request_fingerprint(self.customer_id, self.region, self.lines)


@dataclass(frozen=True, slots=True)
class OrderPlacement:
    """Places orders at the current prices of the products. The event of an order records the `actor`."""

    table: Table
    actor: str
    find_products: FindProducts
    now: Callable[[], datetime] = timestamps.utc_now

    async def place(
        self,
        *,
        customer_id: CustomerId,
        region: str,
        lines: Sequence[RequestedLine],
        idempotency_key: str | None = None,
    ) -> Order:
        """Places an order. Returns the existing order if an equal request with the same key has placed one before.

        Raises Conflict if that order was deleted, or if the request with the same key was different."""
        request = OrderRequest(customer_id, checked_region(region), checked_lines(lines), checked_key(idempotency_key))
        return await retry_if_stale(lambda: self._place(request))

    async def _place(self, request: OrderRequest) -> Order:
        key = request.idempotency_key
        stored_key = await self.table.find(order_by_idempotency_key, key=key) if key else None
        if stored_key and not is_expired(stored_key, self.now()):
            return await self._get_existing_order(stored_key, request)
        products = checked_products(await self.find_products([line.product_id for line in request.lines]))
        order, items = self._new_order(request, products)
        event = new_order_event(None, order, "placed", actor=self.actor, now=order.created_at, note=None)
        await self.table.write(
            *self._key_writes(request, order, stored_key),
            check(customer_refs, {"id": order.customer_id}, when=present(), on_failure=CUSTOMER_NOT_FOUND),
            *insert_writes(order, event),
            *(put(order_items, item, when=absent()) for item in items),
            note=created_note("placed", order),
        )
        return order

    async def _get_existing_order(self, stored_key: IdempotencyKey, request: OrderRequest) -> Order:
        if stored_key.fingerprint != request.fingerprint:
            raise KEY_REUSED()
        if (order := await self.table.find(order_by_id, id=stored_key.order_id)) is None:
            raise ORDER_NOT_FOUND()
        if not is_alive(order):
            raise ORDER_IN_BIN(orderId=order.id)
        return order

    def _new_order(self, request: OrderRequest, products: Sequence[PricedProduct]) -> tuple[Order, list[LineItem]]:
        now, id = self.now(), OrderId(new_id("ord"))
        items = new_line_items(id, request.lines, products, now)
        order = Order(
            id=id,
            customer_id=request.customer_id,
            status=OrderStatus.PENDING,
            region=request.region,
            totals=order_total(items, products[0].currency),
            created_at=now,
            updated_at=now,
        )
        return order, items

    def _key_writes(self, request: OrderRequest, order: Order, expired_key: IdempotencyKey | None) -> list[Write[Any]]:
        """Returns the write that stores the idempotency key, or no write if the request has no key.

        This write must be the first of the transaction. Then the second of two concurrent requests with the same key
        fails with StaleWrite and is retried, and the retry finds the order of the first request."""
        if request.idempotency_key is None:
            return []
        new_key = new_idempotency_key(
            request.idempotency_key, order.id, request.fingerprint, order.created_at, expired_key
        )
        condition = equals("version", expired_key.version) if expired_key else absent()
        return [put(idempotency_keys, new_key, when=condition)]


def created_note(verb: str, order: Order) -> ActivityNote:
    """Returns the activity note for a new order. `verb` is `placed` or `imported`."""
    after = {
        "customerId": order.customer_id,
        "status": order.status,
        "region": order.region,
        "total": order.totals.total,
        "currency": order.totals.currency,
        "itemCount": order.totals.item_count,
    }
    return ActivityNote(f"order.{verb}", order.id, {"after": after})
