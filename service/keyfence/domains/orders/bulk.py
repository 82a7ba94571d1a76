"""Whole orders, found in the table and written there."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from keyfence.bulk.record_kind import Kind, Writer, new
from keyfence.domains.orders import bulk_format
from keyfence.domains.orders.access import buyers, events, items, order_by_id, orders, rows
from keyfence.domains.orders.bulk_format import WholeOrder
from keyfence.domains.orders.model import OrderId, is_alive, row_of
from keyfence.domains.orders.place_order import NO_CUSTOMER, arrival
from keyfence.domains.orders.repository import Parts
from keyfence.domains.products.access import product_by_id
from keyfence.domains.sales.sales import Deltas, Sales, deltas
from keyfence.errors import BadInput
from keyfence.store.expressions import present
from keyfence.store.table import Table
from keyfence.store.writes import Write, check, unless_stale


async def find(table: Table, wanted: Sequence[WholeOrder]) -> list[WholeOrder | None]:
    return await load(table, [one.order.id for one in wanted])


async def load(table: Table, ids: Sequence[OrderId]) -> list[WholeOrder | None]:
    """In the bin or not; with the events that made them what they were when they were found."""
    found = await table.find_many(order_by_id, [{"id": id} for id in ids])
    there = [order for order in found if order]
    parts = Parts(table)
    lines, histories = await parts.items_of(there), await parts.histories_of(there)
    whole = {
        order.id: WholeOrder(order, tuple(some), tuple(happened[: order.version]))
        for order, some, happened in zip(there, lines, histories, strict=True)
    }
    return [whole.get(id) for id in ids]


async def write(writer: Writer, whole: WholeOrder) -> None:
    """With what it means for the sales of its products, which others may change at the same time."""
    await _require_products(writer, whole)
    head, sold = _head(whole), _sold(whole)
    parts = await writer.ahead(_parts(whole), len(head) + len(sold))

    async def attempt() -> None:
        await writer.write(
            *head, *await Sales(writer.table).writes(sold), *parts, note=arrival("imported", whole.order)
        )

    await unless_stale(attempt)


async def _require_products(writer: Writer, whole: WholeOrder) -> None:
    wanted = [item.product_id for item in whole.items if item.product_id not in writer.known]
    found = await writer.table.find_many(product_by_id, [{"id": id} for id in wanted])
    writer.known.update(product.id for product in found if product)
    for at, item in enumerate(whole.items):
        if item.product_id not in writer.known:
            raise BadInput("no such product", field=f"items[{at}].productId")


def _head(whole: WholeOrder) -> list[Write[Any]]:
    order = whole.order
    customer = check(buyers, {"id": order.customer_id}, when=present(), otherwise=NO_CUSTOMER)
    row = [new(rows, row_of(order))] if is_alive(order) else []
    return [new(orders, order), customer, *row]


def _parts(whole: WholeOrder) -> list[Write[Any]]:
    return [*(new(items, item) for item in whole.items), *(new(events, event) for event in whole.events)]


def _sold(whole: WholeOrder) -> Deltas:
    return deltas(None, whole.order, whole.items)


def _touches(whole: WholeOrder) -> Iterable[Hashable]:
    return whole.order.id, *_sold(whole)


KIND = Kind(
    name="order",
    read=bulk_format.order_from_fields,
    spell=bulk_format.order_to_line,
    find=find,
    write=write,
    touches=_touches,
)
