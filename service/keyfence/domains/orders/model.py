"""`Order`, its status machine and `OrderEvent`, and checks of their fields that need no read of the table."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Any, NewType

from keyfence.errors import Conflict
from keyfence.store.ids import new_id
from keyfence.validation import checked_line, checked_text

OrderId = NewType("OrderId", str)
CustomerId = NewType("CustomerId", str)

MAX_REGION_LENGTH = 64
MAX_FLAG_REASON_LENGTH = 500
MAX_NOTE_LENGTH = 1_000
BIN_RETENTION = timedelta(days=30)
"""A deleted order can be restored for this long."""


class OrderStatus(StrEnum):
    """The status of an order."""

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
"""The statuses that can follow each status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTotal:
    """The sum of an order's items. It never changes.

    It is stored as one attribute, because DynamoDB lets an index project at most 20 named attributes."""

    total: Decimal
    currency: str
    item_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow:
    """The copy of an order in its customer's partition, with the fields that lists return."""

    id: OrderId
    customer_id: CustomerId
    status: OrderStatus
    region: str
    totals: OrderTotal
    created_at: datetime
    updated_at: datetime
    version: int = 1
    flagged_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(OrderRow):
    """An order. If it was read from an index, the fields of this class are None, and only the fields of `OrderRow` are
    set. The index of the recycle bin also sets `deleted_at`.

    `restore_lock` is set while the order is being restored from the recycle bin."""

    flag_reason: str | None = None
    claimed_at: datetime | None = None
    claimed_by: str | None = None
    deleted_at: datetime | None = None
    ttl: int | None = None
    restore_lock: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerRef:
    """The part of a customer's item that orders need to check that the customer exists."""

    id: CustomerId
    created_at: datetime
    updated_at: datetime
    version: int = 1


def order_row(order: Order) -> OrderRow:
    return OrderRow(**{field.name: getattr(order, field.name) for field in fields(OrderRow)})


def is_open(order: OrderRow) -> bool:
    return bool(TRANSITIONS[order.status])


def is_alive(order: Order) -> bool:
    return order.deleted_at is None


def with_status(order: Order, status: OrderStatus, now: datetime) -> Order:
    """Returns the order in its new status. Raises Conflict if the status cannot follow the current one."""
    if status not in TRANSITIONS[order.status]:
        allowed = ", ".join(TRANSITIONS[order.status]) or "no other status"
        message = f"an order that is {order.status} cannot become {status}; allowed: {allowed}"
        raise Conflict(message, status=order.status, allowed=list(TRANSITIONS[order.status]))
    return with_changes(order, now, status=status)


def with_changes(order: Order, now: datetime, **changes: Any) -> Order:
    """Returns the next version of the order."""
    return replace(order, **{"updated_at": now, "version": order.version + 1, **changes})


def as_deleted(order: Order, now: datetime) -> Order:
    """Returns the order as it is in the recycle bin. Keeps `updated_at`: the order itself has not changed."""
    return replace(order, deleted_at=now, ttl=int((now + BIN_RETENTION).timestamp()), version=order.version + 1)


def as_restored(order: Order) -> Order:
    return replace(order, deleted_at=None, ttl=None, restore_lock=None, version=order.version + 1)


def has_expired(order: Order, now: datetime) -> bool:
    """Whether the order can no longer be restored. DynamoDB may delete its item days later."""
    return order.deleted_at is not None and now >= order.deleted_at + BIN_RETENTION


checked_region = partial(checked_line, field="region", max_length=MAX_REGION_LENGTH)
checked_flag_reason = partial(checked_line, field="reason", max_length=MAX_FLAG_REASON_LENGTH)


def checked_note(note: str | None) -> str | None:
    return checked_text(note, "note", MAX_NOTE_LENGTH) if note else None


EventId = NewType("EventId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEvent:
    """A change of an order. After the change, the order has the version `revision`.

    The only field of an event that can change later is `ttl`."""

    id: EventId
    order_id: OrderId
    revision: int
    kind: str
    actor: str
    created_at: datetime
    updated_at: datetime
    version: int = 1
    from_status: OrderStatus | None = None
    to_status: OrderStatus | None = None
    note: str | None = None
    ttl: int | None = None


def new_order_event(
    before: Order | None, after: Order, kind: str, *, actor: str, now: datetime, note: str | None
) -> OrderEvent:
    """Returns the event of a change. `from_status` and `to_status` are None if the status stays the same."""
    old_status = before.status if before else None
    is_transition = old_status != after.status
    return OrderEvent(
        id=EventId(new_id("evt")),
        order_id=after.id,
        revision=after.version,
        kind=kind,
        actor=actor,
        created_at=now,
        updated_at=now,
        from_status=old_status if is_transition else None,
        to_status=after.status if is_transition else None,
        note=note,
    )
