"""Orders, items and events as JSON lines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from keyfence.bulk.fields import Fields, actor, amount, one_of, text, timestamp, whole
from keyfence.bulk.record_kind import IMPORTER, Line, record_line, without_nulls
from keyfence.domains.customers.repository import customer_id
from keyfence.domains.orders.line_items import MOST_LINES, MOST_PIECES, LineItem, ProductId, order_total
from keyfence.domains.orders.model import (
    IN_BIN,
    TRANSITIONS,
    CustomerId,
    EventId,
    Order,
    OrderEvent,
    OrderId,
    OrderStatus,
    OrderTotal,
    checked_note,
    checked_reason,
    checked_region,
)
from keyfence.domains.orders.recycle_bin import DETAIL_TTL_MARGIN
from keyfence.domains.orders.repository import order_id
from keyfence.domains.products.model import checked_currency, checked_price, checked_sku
from keyfence.domains.products.repository import product_id
from keyfence.errors import BadInput
from keyfence.store.codec import amount_text
from keyfence.store.ids import checked_id
from keyfence.store.timestamps import timestamp_text
from keyfence.validation import checked_line


def items_from_fields(given: Fields, order: OrderId, created: datetime) -> tuple[LineItem, ...]:
    parts = given.parts("items")
    if not 1 <= len(parts) <= MOST_LINES:
        raise given.bad("items", f"must be 1 to {MOST_LINES}")
    return tuple(_item(one, order, position, created) for position, one in enumerate(parts, start=1))


def _item(given: Fields, order: OrderId, position: int, created: datetime) -> LineItem:
    given.allow_only("productId", "sku", "quantity", "unitPrice")
    quantity = given.take("quantity", whole)
    if quantity > MOST_PIECES:
        raise given.bad("quantity", f"must be from 1 to {MOST_PIECES}")
    return LineItem(
        order_id=order,
        position=position,
        product_id=given.take("productId", lambda value: ProductId(product_id(text(value)))),
        sku=given.take("sku", lambda value: checked_sku(text(value))),
        quantity=quantity,
        unit_price=given.take("unitPrice", lambda value: checked_price(amount(value), "unitPrice")),
        created_at=created,
        updated_at=created,
    )


def bill(given: Fields, items: Sequence[LineItem]) -> OrderTotal:
    made = order_total(items, given.take("currency", lambda value: checked_currency(text(value))))
    if given.maybe("total", amount, made.total) != made.total:
        raise given.bad("total", f"must be {amount_text(made.total)}, which is what the items come to")
    return made


def item_to_line(item: LineItem) -> Line:
    price = amount_text(item.unit_price)
    return without_nulls(productId=item.product_id, sku=item.sku, quantity=item.quantity, unitPrice=price)


KIND_LENGTH = 64

order_status = one_of(OrderStatus)


def events_from_fields(given: Fields, order: OrderId, stands: OrderStatus, created: datetime) -> tuple[OrderEvent, ...]:
    """Where no event is given, the one that brought the order here, with an id that is the same the next time."""
    parts = given.parts("events")
    if not parts:
        return (_arrival(order, stands, created),)
    events = tuple(_event(one, order, revision) for revision, one in enumerate(parts, start=1))
    given.take("events", lambda _: _check(events, stands))
    return events


def _arrival(order: OrderId, stands: OrderStatus, created: datetime) -> OrderEvent:
    return OrderEvent(
        id=EventId(order.replace("ord_", "evt_")),
        order_id=order,
        revision=1,
        kind="imported",
        by=IMPORTER,
        created_at=created,
        updated_at=created,
        to_status=stands,
    )


def _event(given: Fields, order: OrderId, revision: int) -> OrderEvent:
    given.allow_only("id", "kind", "by", "at", "from", "to", "note")
    at = given.take("at", timestamp)
    return OrderEvent(
        id=given.take("id", lambda value: EventId(checked_id("evt", text(value)))),
        order_id=order,
        revision=revision,
        kind=given.take("kind", lambda value: checked_line(text(value), "kind", KIND_LENGTH)),
        by=given.take("by", actor),
        created_at=at,
        updated_at=at,
        from_status=given.maybe("from", order_status, None),
        to_status=given.maybe("to", order_status, None),
        note=given.maybe("note", lambda value: checked_note(text(value)), None),
    )


def _check(events: Sequence[OrderEvent], stands: OrderStatus) -> None:
    """It begins with a first state, goes on only by steps that orders may take, and ends where the order stands."""
    moves = [event for event in events if event.from_status or event.to_status]
    if not moves or moves[0] is not events[0] or moves[0].from_status is not None:
        raise BadInput("must begin with an event that has `to` and no `from`")
    for before, after in pairwise(moves):
        if before.to_status is None or after.from_status != before.to_status or after.to_status is None:
            raise BadInput(f"do not lead on at {after.id}")
        if after.to_status not in TRANSITIONS[before.to_status]:
            raise BadInput(f"have a step from {before.to_status} to {after.to_status}, which no order can take")
    if moves[-1].to_status != stands:
        raise BadInput(f"must end in the order's status, which is {stands}")


def event_to_line(event: OrderEvent) -> Line:
    moved = {"from": event.from_status, "to": event.to_status}
    return without_nulls(
        id=event.id, kind=event.kind, by=event.by, at=timestamp_text(event.created_at), **moved, note=event.note
    )


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order with its items and its events, both in their order."""

    order: Order
    items: tuple[LineItem, ...]
    events: tuple[OrderEvent, ...]


def with_ttl(whole: OrderRecord) -> OrderRecord:
    """With the times at which an order in the bin and its parts may go."""
    if whole.order.deleted_at is None:
        return whole
    ttl = int((whole.order.deleted_at + IN_BIN).timestamp())
    later = ttl + int(DETAIL_TTL_MARGIN.total_seconds())
    return OrderRecord(
        replace(whole.order, ttl=ttl),
        tuple(replace(item, ttl=later) for item in whole.items),
        tuple(replace(event, ttl=later) for event in whole.events),
    )


TOGETHER = (("flaggedAt", "flagReason"), ("claimedAt", "claimedBy"))


def order_from_fields(given: Fields) -> OrderRecord:
    given.allow_only(
        "type", "id", "customerId", "status", "region", "currency", "total", "createdAt", "updatedAt", "version",
        "flaggedAt", "flagReason", "claimedAt", "claimedBy", "deletedAt", "items", "events",
    )  # fmt: skip
    id, created = given.take("id", lambda value: order_id(text(value))), given.take("createdAt", timestamp)
    lines, status = items_from_fields(given, id, created), given.take("status", order_status)
    events = events_from_fields(given, id, status, created)
    if given.maybe("version", whole, len(events)) != len(events):
        raise given.bad("version", f"must be {len(events)}, the number of events")
    order = Order(
        id=id,
        customer_id=given.take("customerId", lambda value: CustomerId(customer_id(text(value)))),
        status=status,
        region=given.take("region", lambda value: checked_region(text(value))),
        bill=bill(given, lines),
        created_at=created,
        updated_at=given.maybe("updatedAt", timestamp, created),
        version=len(events),
        deleted_at=given.maybe("deletedAt", timestamp, None),
        **_review(given),
    )
    return with_ttl(OrderRecord(order, lines, events))


def _review(given: Fields) -> dict[str, Any]:
    for one, other in TOGETHER:
        if (given.values.get(one) is None) != (given.values.get(other) is None):
            raise given.bad(one, f"must be given together with {other}")
    return {
        "flagged_at": given.maybe("flaggedAt", timestamp, None),
        "flag_reason": given.maybe("flagReason", lambda value: checked_reason(text(value)), None),
        "claimed_at": given.maybe("claimedAt", timestamp, None),
        "claimed_by": given.maybe("claimedBy", actor, None),
    }


def order_to_line(whole: OrderRecord) -> Line:
    order = whole.order
    return record_line(
        "order",
        id=order.id,
        customerId=order.customer_id,
        status=order.status,
        region=order.region,
        currency=order.bill.currency,
        total=amount_text(order.bill.total),
        createdAt=timestamp_text(order.created_at),
        updatedAt=timestamp_text(order.updated_at),
        version=order.version,
        flaggedAt=_instant(order.flagged_at),
        flagReason=order.flag_reason,
        claimedAt=_instant(order.claimed_at),
        claimedBy=order.claimed_by,
        deletedAt=_instant(order.deleted_at),
        items=[item_to_line(item) for item in whole.items],
        events=[event_to_line(event) for event in whole.events],
    )


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp_text(moment)
