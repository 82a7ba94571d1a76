"""What a change of an order writes: its head, its customer's row and the event, in one transaction."""

from typing import Any

from keyfence.domains.orders.access import events, orders, rows
from keyfence.domains.orders.event import OrderEvent
from keyfence.domains.orders.model import Order, is_alive, row_of
from keyfence.store.expressions import Condition, absent, equals
from keyfence.store.write import Write, delete, put, revise


def first_writes(order: Order, event: OrderEvent) -> list[Write[Any]]:
    return [put(orders, order, when=absent()), put(rows, row_of(order), when=absent()), _appended(event)]


def writes(before: Order, after: Order, event: OrderEvent, when: Condition | None = None) -> list[Write[Any]]:
    """Bound to the state and version that were read; the row is there as long as the order is alive."""
    as_read = equals("status", before.status)
    head = revise(orders, before, after, when=as_read & when if when else as_read)
    return [head, *_row(before, after), _appended(event)]


def _row(before: Order, after: Order) -> list[Write[Any]]:
    if is_alive(before) and is_alive(after):
        return [revise(rows, row_of(before), row_of(after))]
    if is_alive(before):
        key = {"customer_id": before.customer_id, "created_at": before.created_at, "id": before.id}
        return [delete(rows, key, when=equals("version", before.version))]
    return [put(rows, row_of(after), when=absent())]


def _appended(event: OrderEvent) -> Write[Any]:
    return put(events, event, when=absent())
