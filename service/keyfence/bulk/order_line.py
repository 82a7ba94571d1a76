"""Orders in lines, each with its items and its history."""

from datetime import datetime
from typing import Any

from keyfence.bulk import history, items
from keyfence.bulk.fields import Given, moment, somebody, text, whole
from keyfence.bulk.spelling import Line, line
from keyfence.bulk.whole_order import WholeOrder, expiring
from keyfence.domains.customers.repository import customer_id
from keyfence.domains.orders.model import BuyerId, Order, checked_reason, checked_region
from keyfence.domains.orders.repository import order_id
from keyfence.store.money import money
from keyfence.store.template import instant

TOGETHER = (("flaggedAt", "flagReason"), ("claimedAt", "claimedBy"))


def read(given: Given) -> WholeOrder:
    given.only(
        "type", "id", "customerId", "status", "region", "currency", "total", "createdAt", "updatedAt", "version",
        "flaggedAt", "flagReason", "claimedAt", "claimedBy", "deletedAt", "items", "events",
    )  # fmt: skip
    id, created = given.take("id", lambda value: order_id(text(value))), given.take("createdAt", moment)
    lines, status = items.read(given, id, created), given.take("status", history.status)
    events = history.read(given, id, status, created)
    if given.maybe("version", whole, len(events)) != len(events):
        raise given.bad("version", f"must be {len(events)}, the number of events")
    order = Order(
        id=id,
        customer_id=given.take("customerId", lambda value: BuyerId(customer_id(text(value)))),
        status=status,
        region=given.take("region", lambda value: checked_region(text(value))),
        bill=items.bill(given, lines),
        created_at=created,
        updated_at=given.maybe("updatedAt", moment, created),
        version=len(events),
        deleted_at=given.maybe("deletedAt", moment, None),
        **_review(given),
    )
    return expiring(WholeOrder(order, lines, events))


def _review(given: Given) -> dict[str, Any]:
    for one, other in TOGETHER:
        if (given.values.get(one) is None) != (given.values.get(other) is None):
            raise given.bad(one, f"must be given together with {other}")
    return {
        "flagged_at": given.maybe("flaggedAt", moment, None),
        "flag_reason": given.maybe("flagReason", lambda value: checked_reason(text(value)), None),
        "claimed_at": given.maybe("claimedAt", moment, None),
        "claimed_by": given.maybe("claimedBy", somebody, None),
    }


def spell(whole: WholeOrder) -> Line:
    order = whole.order
    return line(
        "order",
        id=order.id,
        customerId=order.customer_id,
        status=order.status,
        region=order.region,
        currency=order.bill.currency,
        total=money(order.bill.total),
        createdAt=instant(order.created_at),
        updatedAt=instant(order.updated_at),
        version=order.version,
        flaggedAt=_instant(order.flagged_at),
        flagReason=order.flag_reason,
        claimedAt=_instant(order.claimed_at),
        claimedBy=order.claimed_by,
        deletedAt=_instant(order.deleted_at),
        items=[items.spell(item) for item in whole.items],
        events=[history.spell(event) for event in whole.events],
    )


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else instant(moment)
