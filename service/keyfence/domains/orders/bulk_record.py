"""`OrderRecord`: an order with its items and events. Parses it from a line of JSON, and formats it as a line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from keyfence.bulk.json_lines import Line, new_line, without_nulls
from keyfence.bulk.record_fields import (
    Fields,
    enum_parser,
    parse_actor,
    parse_amount,
    parse_positive_integer,
    parse_text,
    parse_timestamp,
)
from keyfence.bulk.record_kind import IMPORTER
from keyfence.domains.customers.repository import checked_customer_id
from keyfence.domains.orders.line_items import MAX_LINES, MAX_QUANTITY, LineItem, ProductId, order_total
from keyfence.domains.orders.model import (
    BIN_RETENTION,
    TRANSITIONS,
    CustomerId,
    EventId,
    Order,
    OrderEvent,
    OrderId,
    OrderStatus,
    OrderTotal,
    checked_flag_reason,
    checked_note,
    checked_region,
)
from keyfence.domains.orders.recycle_bin import DETAIL_TTL_MARGIN
from keyfence.domains.orders.repository import checked_order_id
from keyfence.domains.products.model import checked_currency, checked_price, checked_sku
from keyfence.domains.products.repository import checked_product_id
from keyfence.errors import BadInput
from keyfence.store.codec import amount_text
from keyfence.store.ids import checked_id
from keyfence.store.timestamps import timestamp_text
from keyfence.validation import checked_line

MAX_EVENT_KIND_LENGTH = 64
FIELD_PAIRS = (("flaggedAt", "flagReason"), ("claimedAt", "claimedBy"))
"""A line has both fields of a pair, or neither."""

parse_status = enum_parser(OrderStatus)


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order with all its items and events. Items are sorted by position, events by revision."""

    order: Order
    items: tuple[LineItem, ...]
    events: tuple[OrderEvent, ...]


def from_fields(fields: Fields) -> OrderRecord:
    fields.allow_only(
        "type", "id", "customerId", "status", "region", "currency", "total", "createdAt", "updatedAt", "version",
        "flaggedAt", "flagReason", "claimedAt", "claimedBy", "deletedAt", "items", "events",
    )  # fmt: skip
    id = fields.required("id", lambda value: checked_order_id(parse_text(value)))
    created_at = fields.required("createdAt", parse_timestamp)
    items, status = _items(fields, id, created_at), fields.required("status", parse_status)
    events = _events(fields, id, status, created_at)
    if fields.optional("version", parse_positive_integer, len(events)) != len(events):
        raise fields.error("version", f"must be {len(events)}, the number of events")
    order = Order(
        id=id,
        customer_id=fields.required("customerId", lambda value: CustomerId(checked_customer_id(parse_text(value)))),
        status=status,
        region=fields.required("region", lambda value: checked_region(parse_text(value))),
        totals=_total(fields, items),
        created_at=created_at,
        updated_at=fields.optional("updatedAt", parse_timestamp, created_at),
        version=len(events),
        deleted_at=fields.optional("deletedAt", parse_timestamp, None),
        **_review_fields(fields),
    )
    return with_ttl(OrderRecord(order, items, events))


def to_line(record: OrderRecord) -> Line:
    order = record.order
    return new_line(
        "order",
        id=order.id,
        customerId=order.customer_id,
        status=order.status,
        region=order.region,
        currency=order.totals.currency,
        total=amount_text(order.totals.total),
        createdAt=timestamp_text(order.created_at),
        updatedAt=timestamp_text(order.updated_at),
        version=order.version,
        flaggedAt=_optional_timestamp(order.flagged_at),
        flagReason=order.flag_reason,
        claimedAt=_optional_timestamp(order.claimed_at),
        claimedBy=order.claimed_by,
        deletedAt=_optional_timestamp(order.deleted_at),
        items=[_item_object(item) for item in record.items],
        events=[_event_object(event) for event in record.events],
    )


def with_ttl(record: OrderRecord) -> OrderRecord:
    """Returns the record with the time to live that the recycle bin gives to a deleted order and its details."""
    if record.order.deleted_at is None:
        return record
    ttl = int((record.order.deleted_at + BIN_RETENTION).timestamp())
    detail_ttl = ttl + int(DETAIL_TTL_MARGIN.total_seconds())
    return OrderRecord(
        replace(record.order, ttl=ttl),
        tuple(replace(item, ttl=detail_ttl) for item in record.items),
        tuple(replace(event, ttl=detail_ttl) for event in record.events),
    )


def _items(fields: Fields, order: OrderId, created_at: datetime) -> tuple[LineItem, ...]:
    items = fields.objects("items")
    if not 1 <= len(items) <= MAX_LINES:
        raise fields.error("items", f"must have 1 to {MAX_LINES} entries")
    return tuple(_item(item, order, position, created_at) for position, item in enumerate(items, start=1))


def _item(fields: Fields, order: OrderId, position: int, created_at: datetime) -> LineItem:
    fields.allow_only("productId", "sku", "quantity", "unitPrice")
    quantity = fields.required("quantity", parse_positive_integer)
    if quantity > MAX_QUANTITY:
        raise fields.error("quantity", f"must be from 1 to {MAX_QUANTITY}")
    return LineItem(
        order_id=order,
        position=position,
        product_id=fields.required("productId", lambda value: ProductId(checked_product_id(parse_text(value)))),
        sku=fields.required("sku", lambda value: checked_sku(parse_text(value))),
        quantity=quantity,
        unit_price=fields.required("unitPrice", lambda value: checked_price(parse_amount(value), "unitPrice")),
        created_at=created_at,
        updated_at=created_at,
    )


def _total(fields: Fields, items: Sequence[LineItem]) -> OrderTotal:
    total = order_total(items, fields.required("currency", lambda value: checked_currency(parse_text(value))))
    if fields.optional("total", parse_amount, total.total) != total.total:
        raise fields.error("total", f"must be {amount_text(total.total)}, the sum of the items")
    return total


def _events(fields: Fields, order: OrderId, status: OrderStatus, created_at: datetime) -> tuple[OrderEvent, ...]:
    """Parses the events. A line without events gets one event for the import.

    The id of that event is made from the order's id, so that a repeated import makes the same event."""
    objects = fields.objects("events")
    if not objects:
        return (_import_event(order, status, created_at),)
    events = tuple(_event(event, order, revision) for revision, event in enumerate(objects, start=1))
    fields.required("events", lambda _: _check_transitions(events, status))
    return events


def _import_event(order: OrderId, status: OrderStatus, created_at: datetime) -> OrderEvent:
    return OrderEvent(
        id=EventId(order.replace("ord_", "evt_")),
        order_id=order,
        revision=1,
        kind="imported",
        actor=IMPORTER,
        created_at=created_at,
        updated_at=created_at,
        to_status=status,
    )


def _event(fields: Fields, order: OrderId, revision: int) -> OrderEvent:
    fields.allow_only("id", "kind", "by", "at", "from", "to", "note")
    created_at = fields.required("at", parse_timestamp)
    return OrderEvent(
        id=fields.required("id", lambda value: EventId(checked_id("evt", parse_text(value)))),
        order_id=order,
        revision=revision,
        kind=fields.required("kind", lambda value: checked_line(parse_text(value), "kind", MAX_EVENT_KIND_LENGTH)),
        actor=fields.required("by", parse_actor),
        created_at=created_at,
        updated_at=created_at,
        from_status=fields.optional("from", parse_status, None),
        to_status=fields.optional("to", parse_status, None),
        note=fields.optional("note", lambda value: checked_note(parse_text(value)), None),
    )


def _check_transitions(events: Sequence[OrderEvent], status: OrderStatus) -> None:
    """Raises BadInput if the first event sets no status, if a status cannot follow the status before it, or if the last
    status is not the status of the order."""
    changes = [event for event in events if event.from_status or event.to_status]
    if not changes or changes[0] is not events[0] or changes[0].from_status is not None:
        raise BadInput("must begin with an event that has `to` and no `from`")
    for before, after in pairwise(changes):
        if before.to_status is None or after.from_status != before.to_status or after.to_status is None:
            raise BadInput(f"have a gap at {after.id}: its `from` must be the `to` of the event before")
        if after.to_status not in TRANSITIONS[before.to_status]:
            raise BadInput(f"change the status from {before.to_status} to {after.to_status}, which is not allowed")
    if changes[-1].to_status != status:
        raise BadInput(f"must end in the order's status, which is {status}")


def _review_fields(fields: Fields) -> dict[str, Any]:
    """Parses the fields of the review queue: when and why the order was flagged, when and by whom it was claimed."""
    for first, second in FIELD_PAIRS:
        if (fields.values.get(first) is None) != (fields.values.get(second) is None):
            raise fields.error(first, f"must be given together with {second}")
    return {
        "flagged_at": fields.optional("flaggedAt", parse_timestamp, None),
        "flag_reason": fields.optional("flagReason", lambda value: checked_flag_reason(parse_text(value)), None),
        "claimed_at": fields.optional("claimedAt", parse_timestamp, None),
        "claimed_by": fields.optional("claimedBy", parse_actor, None),
    }


def _item_object(item: LineItem) -> Line:
    price = amount_text(item.unit_price)
    return without_nulls(productId=item.product_id, sku=item.sku, quantity=item.quantity, unitPrice=price)


def _event_object(event: OrderEvent) -> Line:
    statuses = {"from": event.from_status, "to": event.to_status}
    created_at = timestamp_text(event.created_at)
    return without_nulls(id=event.id, kind=event.kind, by=event.actor, at=created_at, **statuses, note=event.note)


def _optional_timestamp(value: datetime | None) -> str | None:
    return None if value is None else timestamp_text(value)
