"""`Order`, status machine, `OrderEvent`, rules."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, NewType

from keyfence.errors import Conflict
from keyfence.store.ids import new_id
from keyfence.validation import checked_line, checked_text

OrderId = NewType("OrderId", str)
CustomerId = NewType("CustomerId", str)

REGION_LENGTH = 64
REASON_LENGTH = 500
NOTE_LENGTH = 1_000
IN_BIN = timedelta(days=30)


class OrderStatus(StrEnum):
    """Where an order stands on its way to its customer."""

    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    PROCESSING = "PROCESSING"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"


TRANSITIONS: Mapping[OrderStatus, tuple[OrderStatus, ...]] = {
    OrderStatus.PENDING: (OrderStatus.CONFIRMED, OrderStatus.CANCELLED),
    OrderStatus.CONFIRMED: (OrderStatus.PROCESSING, OrderStatus.CANCELLED),
    OrderStatus.PROCESSING: (OrderStatus.SHIPPED, OrderStatus.CANCELLED),
    OrderStatus.SHIPPED: (OrderStatus.DELIVERED,),
    OrderStatus.DELIVERED: (),
    OrderStatus.CANCELLED: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTotal:
    """What the lines of an order come to, which never changes: one attribute, since an index can carry but few."""

    total: Decimal
    currency: str
    item_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow:
    """An order as its customer's partition keeps it, with all that lists show."""

    id: OrderId
    customer_id: CustomerId
    status: OrderStatus
    region: str
    bill: OrderTotal
    created_at: datetime
    updated_at: datetime
    version: int = 1
    flagged_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(OrderRow):
    """An order's head, from which its row can be made again; `lift` is held by whoever is restoring it.

    What is not part of the row is known only where the whole item was read, not from an index."""

    flag_reason: str | None = None
    claimed_at: datetime | None = None
    claimed_by: str | None = None
    deleted_at: datetime | None = None
    ttl: int | None = None
    lift: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerRef:
    """A customer's own item as orders see it: whether the customer is there."""

    id: CustomerId
    created_at: datetime
    updated_at: datetime
    version: int = 1


def row_of(order: Order) -> OrderRow:
    return OrderRow(**{one.name: getattr(order, one.name) for one in fields(OrderRow)})


def is_open(order: OrderRow) -> bool:
    return bool(TRANSITIONS[order.status])


def is_alive(order: Order) -> bool:
    return order.deleted_at is None


def with_status(order: Order, to: OrderStatus, now: datetime) -> Order:
    if to not in TRANSITIONS[order.status]:
        allowed = ", ".join(TRANSITIONS[order.status]) or "nothing more"
        message = f"an order that is {order.status} cannot become {to}; allowed: {allowed}"
        raise Conflict(message, status=order.status, allowed=list(TRANSITIONS[order.status]))
    return changed(order, now, status=to)


def changed(order: Order, now: datetime, **changes: Any) -> Order:
    return replace(order, **{"updated_at": now, "version": order.version + 1, **changes})


def deleted(order: Order, now: datetime) -> Order:
    """In the bin, and otherwise as it was: when it was last updated stays true."""
    return replace(order, deleted_at=now, ttl=int((now + IN_BIN).timestamp()), version=order.version + 1)


def restored(order: Order) -> Order:
    return replace(order, deleted_at=None, ttl=None, lift=None, version=order.version + 1)


def is_purged(order: Order, now: datetime) -> bool:
    """Whether its time in the bin is over; the item itself may stay for days more."""
    return order.deleted_at is not None and now >= order.deleted_at + IN_BIN


def checked_region(region: str) -> str:
    return checked_line(region, "region", REGION_LENGTH)


def checked_reason(reason: str) -> str:
    return checked_line(reason, "reason", REASON_LENGTH)


def checked_note(note: str | None) -> str | None:
    return checked_text(note, "note", NOTE_LENGTH) if note else None


EventId = NewType("EventId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEvent:
    """What made an order the `revision` it then was; never changed, but for the time at which it may go."""

    id: EventId
    order_id: OrderId
    revision: int
    kind: str
    by: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
    from_status: OrderStatus | None = None
    to_status: OrderStatus | None = None
    note: str | None = None
    ttl: int | None = None


def new_order_event(
    before: Order | None, after: Order, kind: str, *, by: str, at: datetime, note: str | None
) -> OrderEvent:
    old = before.status if before else None
    moved = old != after.status
    return OrderEvent(
        id=EventId(new_id("evt")),
        order_id=after.id,
        revision=after.version,
        kind=kind,
        by=by,
        created_at=at,
        updated_at=at,
        from_status=old if moved else None,
        to_status=after.status if moved else None,
        note=note,
    )
