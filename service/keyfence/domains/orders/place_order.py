"""Placing orders: everything of an order in one transaction, once for each key that callers give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.orders.access_patterns import buyers, items, order_by_id, order_by_key, order_keys
from keyfence.domains.orders.idempotency import IdempotencyKey, checked_key, fingerprint, is_expired, order_key
from keyfence.domains.orders.line_items import (
    LineItem,
    PricedProduct,
    Prices,
    RequestedLine,
    checked_lines,
    checked_prices,
    line_items,
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
from keyfence.domains.orders.repository import MISSING, insert_writes
from keyfence.errors import BadInput, Conflict
from keyfence.store import timestamps
from keyfence.store.expressions import absent, equals, present
from keyfence.store.ids import new_id
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, Write, check, put, retry_if_stale

NO_CUSTOMER = partial(BadInput, "no such customer", field="customerId")
REUSED = partial(Conflict, "another order was placed with this idempotencyKey", field="idempotencyKey")
BINNED = partial(
    Conflict, "the order placed with this idempotencyKey was deleted and can be restored", field="idempotencyKey"
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller wants, in good form."""

    customer_id: CustomerId
    region: str
    lines: tuple[RequestedLine, ...]
    key: str | None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.customer_id, self.region, self.lines)


@dataclass(frozen=True, slots=True)
class OrderPlacement:
    """Makes orders at the products' prices of the moment."""

    table: Table
    by: str
    prices: Prices
    now: Callable[[], datetime] = timestamps.utc_now

    async def place(
        self, *, customer_id: CustomerId, region: str, lines: Sequence[RequestedLine], key: str | None = None
    ) -> Order:
        """With a key that an equal request had before, the order that was placed then, unless it is in the bin."""
        request = Request(customer_id, checked_region(region), checked_lines(lines), checked_key(key))
        return await retry_if_stale(lambda: self._place(request))

    async def _place(self, request: Request) -> Order:
        known = await self.table.find(order_by_key, key=request.key) if request.key else None
        if known and not is_expired(known, self.now()):
            return await self._placed(known, request)
        priced = checked_prices(await self.prices([line.product_id for line in request.lines]))
        order, lines = self._made(request, priced)
        happened = new_order_event(None, order, "placed", by=self.by, at=order.created_at, note=None)
        await self.table.write(
            *self._keyed(request, order, known),
            check(buyers, {"id": order.customer_id}, when=present(), on_failure=NO_CUSTOMER),
            *insert_writes(order, happened),
            *(put(items, line, when=absent()) for line in lines),
            note=created_note("placed", order),
        )
        return order

    async def _placed(self, known: IdempotencyKey, request: Request) -> Order:
        if known.fingerprint != request.fingerprint:
            raise REUSED()
        if (order := await self.table.find(order_by_id, id=known.order_id)) is None:
            raise MISSING()
        if not is_alive(order):
            raise BINNED(orderId=order.id)
        return order

    def _made(self, request: Request, priced: Sequence[PricedProduct]) -> tuple[Order, list[LineItem]]:
        now, id = self.now(), OrderId(new_id("ord"))
        lines = line_items(id, request.lines, priced, now)
        order = Order(
            id=id,
            customer_id=request.customer_id,
            status=OrderStatus.PENDING,
            region=request.region,
            bill=order_total(lines, priced[0].currency),
            created_at=now,
            updated_at=now,
        )
        return order, lines

    def _keyed(self, request: Request, order: Order, known: IdempotencyKey | None) -> list[Write[Any]]:
        """First in the transaction, so that of two with one key the second is told to look again."""
        if request.key is None:
            return []
        kept = order_key(request.key, order.id, request.fingerprint, order.created_at, known)
        return [put(order_keys, kept, when=equals("version", known.version) if known else absent())]


def created_note(verb: str, order: Order) -> ActivityNote:
    """What the journal tells of an order that has not been there."""
    shown = {
        "customerId": order.customer_id,
        "status": order.status,
        "region": order.region,
        "total": order.bill.total,
        "currency": order.bill.currency,
        "itemCount": order.bill.item_count,
    }
    return ActivityNote(f"order.{verb}", order.id, {"after": shown})
