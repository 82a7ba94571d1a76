"""Events: what happened to an order, one for each of its versions."""

from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from keyfence.domains.orders.model import Order, OrderId, OrderStatus
from keyfence.store.ids import new_id

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


def event(before: Order | None, after: Order, kind: str, *, by: str, at: datetime, note: str | None) -> OrderEvent:
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
