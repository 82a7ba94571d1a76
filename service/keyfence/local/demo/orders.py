"""Demo orders, each with the events that led to its status and its entries in the activity log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from keyfence.domains.activity.activity_log import ACTIVITY_RETENTION, Activity, ActivityId, new_activity
from keyfence.domains.customers.model import Customer
from keyfence.domains.orders.bulk_record import OrderRecord, with_ttl
from keyfence.domains.orders.line_items import LineItem, RequestedLine, new_line_items, order_total
from keyfence.domains.orders.line_items import ProductId as OrderedProductId
from keyfence.domains.orders.model import (
    CustomerId,
    EventId,
    Order,
    OrderEvent,
    OrderId,
    OrderStatus,
    as_deleted,
    new_order_event,
    with_changes,
    with_status,
)
from keyfence.domains.orders.order_placement import created_note
from keyfence.domains.orders.repository import LOGGED_FIELDS
from keyfence.domains.products.bulk import ProductRecord
from keyfence.domains.products.model import Product
from keyfence.local.demo.tenants import FOUNDED_AT, DemoTenant
from keyfence.store.writes import ActivityNote, changed_fields

FIRST_ORDER_AT = FOUNDED_AT + timedelta(days=60)
STATUS_PATH = (OrderStatus.CONFIRMED, OrderStatus.PROCESSING, OrderStatus.SHIPPED, OrderStatus.DELIVERED)
DELIVERY_TIME = timedelta(days=40)
"""The longest time from placing an order to its last status."""
CANCELLED_SHARE = 0.08
FLAGGED_EVERY, CLAIMED_EVERY, DELETED_EVERY = 17, 23, 53
"""One of so many orders is flagged for review, claimed by a reviewer, or in the recycle bin."""
FLAG_REASON = "is this address right?"
MAX_ACTIVITIES = 50
"""Only the newest entries of the activity log are made."""


@dataclass(slots=True)
class DemoOrder:
    """An order that is built step by step. Each step adds an event and an entry of the activity log."""

    demo: DemoTenant
    order: Order
    items: Sequence[LineItem]
    events: list[OrderEvent] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)

    def record(self) -> OrderRecord:
        return with_ttl(OrderRecord(self.order, tuple(self.items), tuple(self.events)))

    def advance(self, after: Order, kind: str, user: str, at: datetime, note: str | None = None) -> None:
        """Records that a user changed the order. The first step creates it."""
        before = self.order if self.events else None
        actor, name = self.demo.user_id(user), f"{after.id}/{after.version}"
        event = new_order_event(before, after, kind, actor=actor, now=at, note=note)
        self.events.append(replace(event, id=EventId(self.demo.make_id("evt", name, at))))
        activity = (
            ActivityNote(f"order.{kind}", after.id, changed_fields(before, after, *LOGGED_FIELDS))
            if before
            else created_note(kind, after)
        )
        self.activities.append(new_activity(ActivityId(self.demo.make_id("act", name, at)), activity, actor, at))
        self.order = after


@dataclass(frozen=True, slots=True)
class DemoOrders:
    """All orders of a demo tenant, from a seeded random generator: they are the same on every machine.

    Only orders in the recycle bin depend on `now`, since the bin empties itself.
    """

    demo: DemoTenant
    customers: Sequence[Customer]
    products: Sequence[ProductRecord]
    now: datetime

    def orders(self) -> list[OrderRecord]:
        return [order.record() for order in self._orders()]

    def activities(self) -> list[Activity]:
        entries = (activity for order in self._orders() for activity in order.activities)
        retained = (activity for activity in entries if activity.created_at > self.now - ACTIVITY_RETENTION)
        return sorted(retained, key=lambda activity: activity.created_at)[-MAX_ACTIVITIES:]

    def _orders(self) -> Iterator[DemoOrder]:
        return (self._order(number) for number in range(self.demo.shop.orders))

    def _order(self, number: int) -> DemoOrder:
        random = Random(f"{self.demo.domain}/{number}")  # noqa: S311 - it has to be the same on every machine
        placed, items = self._place(number, random)
        order = DemoOrder(self.demo, placed, items)
        order.advance(placed, "placed", self._user(0), placed.created_at)
        self._advance_status(order, random)
        self._review(order, number)
        return order

    def _place(self, number: int, random: Random) -> tuple[Order, list[LineItem]]:
        """The exponents give more orders as time goes on, and frequent customers and popular products."""
        shop = self.demo.shop
        progress = ((number + random.random()) / shop.orders) ** 0.8
        created = (FIRST_ORDER_AT + timedelta(days=shop.days * progress)).replace(microsecond=0)
        customer = self.customers[int(len(self.customers) * random.random() ** 2)]
        id = OrderId(self.demo.make_id("ord", str(number), created))
        chosen = {int(len(self.products) * random.random() ** 1.6) for _ in range(random.randint(1, shop.max_lines))}
        products = [_as_of(self.products[position], created) for position in sorted(chosen)]
        lines = [
            RequestedLine(OrderedProductId(product.id), 1 + int(shop.max_quantity * random.random() ** 2))
            for product in products
        ]
        items = new_line_items(id, lines, products, created)
        order = Order(
            id=id,
            customer_id=CustomerId(customer.id),
            status=OrderStatus.PENDING,
            region=random.choice(shop.regions),
            totals=order_total(items, shop.currency),
            created_at=created,
            updated_at=created,
        )
        return order, items

    def _advance_status(self, order: DemoOrder, random: Random) -> None:
        """Old orders end as delivered or cancelled. A recent one gets as far as its age allows."""
        end = FIRST_ORDER_AT + timedelta(days=self.demo.shop.days)
        at = order.order.created_at
        for status, pause in self._steps(random):
            at += pause
            if at > end:
                return
            order.advance(with_status(order.order, status, at), "transitioned", self._user(len(order.events)), at)

    def _steps(self, random: Random) -> Iterator[tuple[OrderStatus, timedelta]]:
        is_cancelled = random.random() < CANCELLED_SHARE
        length = random.randrange(3) if is_cancelled else len(STATUS_PATH)
        for status in (*STATUS_PATH[:length], *([OrderStatus.CANCELLED] if is_cancelled else [])):
            yield status, DELIVERY_TIME / len(STATUS_PATH) * (0.1 + 0.9 * random.random())

    def _review(self, order: DemoOrder, number: int) -> None:
        at = order.order.updated_at + timedelta(hours=2)
        is_claimed = number % CLAIMED_EVERY == 7
        if number % FLAGGED_EVERY == 5 or is_claimed:
            flagged = with_changes(order.order, at, flagged_at=at, flag_reason=FLAG_REASON)
            order.advance(flagged, "flagged", self._user(1), at, FLAG_REASON)
        if is_claimed:
            at, user = at + timedelta(hours=3), self._user(0)
            claim = {"claimed_at": at, "claimed_by": self.demo.user_id(user)}
            order.advance(
                with_changes(order.order, at, flagged_at=None, flag_reason=None, **claim), "claimed", user, at
            )
        if number % DELETED_EVERY == 11:
            deleted_at = self.now - timedelta(hours=number)
            order.advance(as_deleted(order.order, deleted_at), "deleted", self._user(0), deleted_at)

    def _user(self, number: int) -> str:
        return self.demo.users[number % len(self.demo.users)]


def _as_of(record: ProductRecord, at: datetime) -> Product:
    """Returns the product with the price that it had at that time."""
    prices = [revision.price for revision in record.revisions if revision.created_at <= at]
    return replace(record.product, price=prices[-1])
