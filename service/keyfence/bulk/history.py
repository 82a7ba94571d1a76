"""The history of an order in lines, and the rules that it keeps."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from keyfence.bulk.fields import Given, moment, one_of, somebody, text
from keyfence.bulk.spelling import IMPORTER, Line, part
from keyfence.domains.orders.event import EventId, OrderEvent
from keyfence.domains.orders.model import STEPS, OrderId, OrderStatus, checked_note
from keyfence.errors import BadInput
from keyfence.store.ids import checked_id
from keyfence.store.template import instant
from keyfence.validation import checked_line

KIND_LENGTH = 64

status = one_of(OrderStatus)


def read(given: Given, order: OrderId, stands: OrderStatus, created: datetime) -> tuple[OrderEvent, ...]:
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


def _event(given: Given, order: OrderId, revision: int) -> OrderEvent:
    given.only("id", "kind", "by", "at", "from", "to", "note")
    at = given.take("at", moment)
    return OrderEvent(
        id=given.take("id", lambda value: EventId(checked_id("evt", text(value)))),
        order_id=order,
        revision=revision,
        kind=given.take("kind", lambda value: checked_line(text(value), "kind", KIND_LENGTH)),
        by=given.take("by", somebody),
        created_at=at,
        updated_at=at,
        from_status=given.maybe("from", status, None),
        to_status=given.maybe("to", status, None),
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
        if after.to_status not in STEPS[before.to_status]:
            raise BadInput(f"have a step from {before.to_status} to {after.to_status}, which no order can take")
    if moves[-1].to_status != stands:
        raise BadInput(f"must end in the order's status, which is {stands}")


def spell(event: OrderEvent) -> Line:
    moved = {"from": event.from_status, "to": event.to_status}
    return part(id=event.id, kind=event.kind, by=event.by, at=instant(event.created_at), **moved, note=event.note)
