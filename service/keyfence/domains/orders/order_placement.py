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
    fingerprint,
    is_expired,
    new_idempotency_key,
)
from keyfence.domains.orders.line_items import (
    FindProducts,
    LineItem,
    PricedProduct,
    RequestedLine,
    checked_lines,
    checked_prices,
    make_line_items,
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
KEY_REUSED = partial(Conflict, "another order was placed with this idempotencyKey", field="idempotencyKey")
ORDER_IN_BIN = partial(
    Conflict, "the order placed with this idempotencyKey was deleted and can be restored", field="idempotencyKey"
)


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """A checked request to place an order."""

    customer_id: CustomerId
    region: str
    lines: tuple[RequestedLine, ...]
    key: str | None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.customer_id, self.region, self.lines)


@dataclass(frozen=True, slots=True)
class OrderPlacement:
    """Places orders at the current prices of the products."""

    table: Table
    actor: str
    find_products: FindProducts
    now: Callable[[], datetime] = timestamps.utc_now

    async def place(
        self, *, customer_id: CustomerId, region: str, lines: Sequence[RequestedLine], key: str | None = None
    ) -> Order:
        """Returns the existing order if an equal request with the same key placed one before.

        Raises Conflict if that order was deleted, or if the request with the same key was different."""
        request = OrderRequest(customer_id, checked_region(region), checked_lines(lines), checked_key(key))
        return await retry_if_stale(lambda: self._place(request))

    async def _place(self, request: OrderRequest) -> Order:
        known = await self.table.find(order_by_idempotency_key, key=request.key) if request.key else None
        if known and not is_expired(known, self.now()):
            return await self._existing_order(known, request)
        priced = checked_prices(await self.find_products([line.product_id for line in request.lines]))
        order, lines = self._new_order(request, priced)
        event = new_order_event(None, order, "placed", by=self.actor, at=order.created_at, note=None)
        await self.table.write(
            *self._key_writes(request, order, known),
            check(customer_refs, {"id": order.customer_id}, when=present(), on_failure=CUSTOMER_NOT_FOUND),
            *insert_writes(order, event),
            *(put(order_items, line, when=absent()) for line in lines),
            note=created_note("placed", order),
        )
        return order

    async def _existing_order(self, known: IdempotencyKey, request: OrderRequest) -> Order:
        if known.fingerprint != request.fingerprint:
            raise KEY_REUSED()
        if (order := await self.table.find(order_by_id, id=known.order_id)) is None:
            raise ORDER_NOT_FOUND()
        if not is_alive(order):
            raise ORDER_IN_BIN(orderId=order.id)
        return order

    def _new_order(self, request: OrderRequest, priced: Sequence[PricedProduct]) -> tuple[Order, list[LineItem]]:
        now, id = self.now(), OrderId(new_id("ord"))
        lines = make_line_items(id, request.lines, priced, now)
        order = Order(
            id=id,
            customer_id=request.customer_id,
            status=OrderStatus.PENDING,
            region=request.region,
            totals=order_total(lines, priced[0].currency),
            created_at=now,
            updated_at=now,
        )
        return order, lines

    def _key_writes(self, request: OrderRequest, order: Order, known: IdempotencyKey | None) -> list[Write[Any]]:
        """Comes first in the transaction. So the second of two concurrent requests with one key fails with StaleWrite,
        is tried again and finds the order of the first."""
        if request.key is None:
            return []
        new_key = new_idempotency_key(request.key, order.id, request.fingerprint, order.created_at, known)
        return [put(idempotency_keys, new_key, when=equals("version", known.version) if known else absent())]


def created_note(verb: str, order: Order) -> ActivityNote:
    """Returns the activity note for a new order."""
    after = {
        "customerId": order.customer_id,
        "status": order.status,
        "region": order.region,
        "total": order.totals.total,
        "currency": order.totals.currency,
        "itemCount": order.totals.item_count,
    }
    return ActivityNote(f"order.{verb}", order.id, {"after": after})
