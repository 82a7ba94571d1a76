"""Orders of the demo tenants, with the events that led to their status and their entries in the activity log."""

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
MAX_DELIVERY_TIME = timedelta(days=40)
"""The longest time from placing an order to its last status."""
CANCELLED_SHARE = 0.08
"""The share of orders that are cancelled instead of delivered."""
FLAGGED_EVERY, CLAIMED_EVERY, DELETED_EVERY = 17, 23, 53
"""Every 17th order is flagged for review, every 23rd is claimed by a reviewer, every 53rd is in the recycle bin."""
FLAG_REASON = "is this address right?"
MAX_ACTIVITIES = 50
"""How many entries the activity log contains. They are the newest, and fit into one transaction."""


@dataclass(slots=True)
class DemoOrder:
    """An order that is built step by step. Each step adds an event and an entry of the activity log."""

    tenant: DemoTenant
    order: Order
    items: Sequence[LineItem]
    events: list[OrderEvent] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)

    def record(self) -> OrderRecord:
        return with_ttl(OrderRecord(self.order, tuple(self.items), tuple(self.events)))

    def advance(self, after: Order, kind: str, user: str, changed_at: datetime, note: str | None = None) -> None:
        """Adds a step: a user changed the order into `after`. The first step creates the order."""
        before = self.order if self.events else None
        actor, version_name = self.tenant.user_id(user), f"{after.id}/{after.version}"
        event = new_order_event(before, after, kind, actor=actor, now=changed_at, note=note)
        self.events.append(replace(event, id=EventId(self.tenant.make_id("evt", version_name, changed_at))))
        activity_note = (
            ActivityNote(f"order.{kind}", after.id, changed_fields(before, after, *LOGGED_FIELDS))
            if before
            else created_note(kind, after)
        )
        self.activities.append(
            new_activity(
                ActivityId(self.tenant.make_id("act", version_name, changed_at)), activity_note, actor, changed_at
            )
        )
        self.order = after


@dataclass(frozen=True, slots=True)
class DemoOrders:
    """All orders of a demo tenant. The random generators have fixed seeds, so the orders are the same on every machine.

    Two things depend on `now`: the deletion times, because a deleted order stays in the recycle bin only for a limited
    time, and the entries of the activity log, because it keeps entries only for a limited time.
    """

    tenant: DemoTenant
    customers: Sequence[Customer]
    products: Sequence[ProductRecord]
    now: datetime

    def orders(self) -> list[OrderRecord]:
        return [order.record() for order in self._orders()]

    def activities(self) -> list[Activity]:
        entries = (activity for order in self._orders() for activity in order.activities)
        recent_entries = (activity for activity in entries if activity.created_at > self.now - ACTIVITY_RETENTION)
        return sorted(recent_entries, key=lambda activity: activity.created_at)[-MAX_ACTIVITIES:]

    def _orders(self) -> Iterator[DemoOrder]:
        return (self._order(number) for number in range(self.tenant.shop.order_count))

    def _order(self, number: int) -> DemoOrder:
        random = Random(f"{self.tenant.email_domain}/{number}")  # noqa: S311 - the same seed on every machine
        new_order, items = self._new_order(number, random)
        order = DemoOrder(self.tenant, new_order, items)
        order.advance(new_order, "placed", self._user(0), new_order.created_at)
        self._advance_status(order, random)
        self._review(order, number)
        return order

    def _new_order(self, number: int, random: Random) -> tuple[Order, list[LineItem]]:
        """Returns a new order and its lines.

        The exponents make the data uneven: more orders in later months, frequent customers and popular products.
        """
        shop = self.tenant.shop
        time_share = ((number + random.random()) / shop.order_count) ** 0.8
        created_at = (FIRST_ORDER_AT + timedelta(days=shop.days * time_share)).replace(microsecond=0)
        customer = self.customers[int(len(self.customers) * random.random() ** 2)]
        id = OrderId(self.tenant.make_id("ord", str(number), created_at))
        product_numbers = {
            int(len(self.products) * random.random() ** 1.6) for _ in range(random.randint(1, shop.max_lines))
        }
        products = [
            _product_at(self.products[product_number], created_at) for product_number in sorted(product_numbers)
        ]
        lines = [
            RequestedLine(OrderedProductId(product.id), 1 + int(shop.max_quantity * random.random() ** 2))
            for product in products
        ]
        items = new_line_items(id, lines, products, created_at)
        order = Order(
            id=id,
            customer_id=CustomerId(customer.id),
            status=OrderStatus.PENDING,
            region=random.choice(shop.regions),
            totals=order_total(items, shop.currency),
            created_at=created_at,
            updated_at=created_at,
        )
        return order, items

    def _advance_status(self, order: DemoOrder, random: Random) -> None:
        """Changes the status step by step, until the order is delivered or cancelled or the shop's last day is over."""
        end_at = FIRST_ORDER_AT + timedelta(days=self.tenant.shop.days)
        changed_at = order.order.created_at
        for status, pause in self._status_changes(random):
            changed_at += pause
            if changed_at > end_at:
                return
            changed_order = with_status(order.order, status, changed_at)
            order.advance(changed_order, "transitioned", self._user(len(order.events)), changed_at)

    def _status_changes(self, random: Random) -> Iterator[tuple[OrderStatus, timedelta]]:
        """Yields each next status, and how long the order stays in the status before."""
        is_cancelled = random.random() < CANCELLED_SHARE
        statuses = (*STATUS_PATH[: random.randrange(3)], OrderStatus.CANCELLED) if is_cancelled else STATUS_PATH
        for status in statuses:
            yield status, MAX_DELIVERY_TIME / len(STATUS_PATH) * (0.1 + 0.9 * random.random())

    def _review(self, order: DemoOrder, number: int) -> None:
        """Flags, claims or deletes the order, or does nothing. That depends on the order's number."""
        flagged_at = order.order.updated_at + timedelta(hours=2)
        is_claimed = number % CLAIMED_EVERY == 7
        if number % FLAGGED_EVERY == 5 or is_claimed:
            flagged_order = with_changes(order.order, flagged_at, flagged_at=flagged_at, flag_reason=FLAG_REASON)
            order.advance(flagged_order, "flagged", self._user(1), flagged_at, FLAG_REASON)
        if is_claimed:
            claimed_at, user = flagged_at + timedelta(hours=3), self._user(0)
            claimed_order = with_changes(
                order.order,
                claimed_at,
                flagged_at=None,
                flag_reason=None,
                claimed_at=claimed_at,
                claimed_by=self.tenant.user_id(user),
            )
            order.advance(claimed_order, "claimed", user, claimed_at)
        if number % DELETED_EVERY == 11:
            deleted_at = self.now - timedelta(hours=number)
            order.advance(as_deleted(order.order, deleted_at), "deleted", self._user(0), deleted_at)

    def _user(self, number: int) -> str:
        return self.tenant.users[number % len(self.tenant.users)]


def _product_at(record: ProductRecord, time: datetime) -> Product:
    """Returns the product with the price that it had at the time."""
    prices = [revision.price for revision in record.revisions if revision.created_at <= time]
    return replace(record.product, price=prices[-1])
