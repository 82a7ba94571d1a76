"""The orders of a demo tenant's shop, each with the history that led to its state, and the journal of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from keyfence.domains.activity.activity_log import RETENTION, Activity, ActivityId, new_activity
from keyfence.domains.customers.model import Customer
from keyfence.domains.orders.bulk_format import OrderRecord, with_ttl
from keyfence.domains.orders.line_items import LineItem, RequestedLine, line_items, order_total
from keyfence.domains.orders.line_items import ProductId as WantedId
from keyfence.domains.orders.model import (
    CustomerId,
    EventId,
    Order,
    OrderEvent,
    OrderId,
    OrderStatus,
    changed,
    deleted,
    new_order_event,
    with_status,
)
from keyfence.domains.orders.place_order import created_note
from keyfence.domains.orders.repository import SHOWN
from keyfence.domains.products.bulk import ProductRecord
from keyfence.domains.products.model import Product
from keyfence.local.demo.tenants import FIRST_DAY, DemoTenant
from keyfence.store.writes import ActivityNote, changed_fields

FIRST_ORDER = FIRST_DAY + timedelta(days=60)
ALONG = (OrderStatus.CONFIRMED, OrderStatus.PROCESSING, OrderStatus.SHIPPED, OrderStatus.DELIVERED)
UNSETTLED = timedelta(days=40)
CANCELLED = 0.08
FLAGGED, CLAIMED, DELETED = 17, 23, 53
"""Every so many orders, one."""
TOLD = 50
"""How many entries the journal has, the latest ones."""


@dataclass(slots=True)
class DemoOrder:
    """An order on its way: what it has become, and how."""

    demo: DemoTenant
    order: Order
    items: Sequence[LineItem]
    events: list[OrderEvent] = field(default_factory=list)
    entries: list[Activity] = field(default_factory=list)

    def whole(self) -> OrderRecord:
        return with_ttl(OrderRecord(self.order, tuple(self.items), tuple(self.events)))

    def went(self, after: Order, kind: str, by: str, at: datetime, note: str | None = None) -> None:
        before = self.order if self.events else None
        happened = new_order_event(before, after, kind, by=self.demo.user_id(by), at=at, note=note)
        id, actor = f"{after.id}/{after.version}", self.demo.user_id(by)
        self.events.append(replace(happened, id=EventId(self.demo.id_of("evt", id, at))))
        told = (
            ActivityNote(f"order.{kind}", after.id, changed_fields(before, after, *SHOWN))
            if before
            else created_note(kind, after)
        )
        self.entries.append(new_activity(ActivityId(self.demo.id_of("act", id, at)), told, actor, at))
        self.order = after


@dataclass(frozen=True, slots=True)
class DemoOrders:
    """Chance decides, and always the same: only the bin is filled now, since it empties by itself."""

    demo: DemoTenant
    customers: Sequence[Customer]
    products: Sequence[ProductRecord]
    now: datetime

    def orders(self) -> list[OrderRecord]:
        return [course.whole() for course in self._courses()]

    def journal(self) -> list[Activity]:
        entries = (one for course in self._courses() for one in course.entries)
        kept = (one for one in entries if one.created_at > self.now - RETENTION)
        return sorted(kept, key=lambda one: one.created_at)[-TOLD:]

    def _courses(self) -> Iterator[DemoOrder]:
        return (self._course(number) for number in range(self.demo.shop.orders))

    def _course(self, number: int) -> DemoOrder:
        chance = Random(f"{self.demo.domain}/{number}")  # noqa: S311 - the same on every machine is what is wanted
        order, items = self._placed(number, chance)
        course = DemoOrder(self.demo, order, items)
        course.went(order, "placed", self._by(0), order.created_at)
        self._move_on(course, chance)
        self._look_at(course, number)
        return course

    def _placed(self, number: int, chance: Random) -> tuple[Order, list[LineItem]]:
        """More and more as time goes by; some customers come often, and some things sell well."""
        shop = self.demo.shop
        share = ((number + chance.random()) / shop.orders) ** 0.8
        created = (FIRST_ORDER + timedelta(days=shop.days * share)).replace(microsecond=0)
        customer = self.customers[int(len(self.customers) * chance.random() ** 2)]
        id = OrderId(self.demo.id_of("ord", str(number), created))
        chosen = {int(len(self.products) * chance.random() ** 1.6) for _ in range(chance.randint(1, shop.most_lines))}
        priced = [_then(self.products[at], created) for at in sorted(chosen)]
        wanted = [RequestedLine(WantedId(one.id), 1 + int(shop.most_pieces * chance.random() ** 2)) for one in priced]
        items = line_items(id, wanted, priced, created)
        order = Order(
            id=id,
            customer_id=CustomerId(customer.id),
            status=OrderStatus.PENDING,
            region=chance.choice(shop.regions),
            bill=order_total(items, shop.currency),
            created_at=created,
            updated_at=created,
        )
        return order, items

    def _move_on(self, course: DemoOrder, chance: Random) -> None:
        """Old orders are delivered or cancelled; of the latest, each is as far as its age allows."""
        end = FIRST_ORDER + timedelta(days=self.demo.shop.days)
        at = course.order.created_at
        for step, pause in self._steps(chance):
            at += pause
            if at > end:
                return
            course.went(with_status(course.order, step, at), "transitioned", self._by(len(course.events)), at)

    def _steps(self, chance: Random) -> Iterator[tuple[OrderStatus, timedelta]]:
        cancelled = chance.random() < CANCELLED
        reached = chance.randrange(3) if cancelled else len(ALONG)
        for step in (*ALONG[:reached], *([OrderStatus.CANCELLED] if cancelled else [])):
            yield step, UNSETTLED / len(ALONG) * (0.1 + 0.9 * chance.random())

    def _look_at(self, course: DemoOrder, number: int) -> None:
        order, reason = course.order, "is this address right?"
        at = order.updated_at + timedelta(hours=2)
        if number % FLAGGED == 5 or number % CLAIMED == 7:
            flagged = changed(order, at, flagged_at=at, flag_reason=reason)
            course.went(flagged, "flagged", self._by(1), at, reason)
        if number % CLAIMED == 7:
            at, by = at + timedelta(hours=3), self._by(0)
            claimer = {"claimed_at": at, "claimed_by": self.demo.user_id(by)}
            course.went(changed(course.order, at, flagged_at=None, flag_reason=None, **claimer), "claimed", by, at)
        if number % DELETED == 11:
            gone = self.now - timedelta(hours=number)
            course.went(deleted(course.order, gone), "deleted", self._by(0), gone)

    def _by(self, at: int) -> str:
        return self.demo.people[at % len(self.demo.people)]


def _then(whole: ProductRecord, moment: datetime) -> Product:
    """The product with the price that it had then."""
    prices = [revision.price for revision in whole.revisions if revision.created_at <= moment]
    return replace(whole.product, price=prices[-1])
