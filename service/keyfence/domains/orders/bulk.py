"""Whole orders, found in the table and written there."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from keyfence.bulk.record_kind import RecordKind, RecordWriter, put_new
from keyfence.domains.orders import bulk_format
from keyfence.domains.orders.access_patterns import buyers, events, items, order_by_id, orders, rows
from keyfence.domains.orders.bulk_format import OrderRecord
from keyfence.domains.orders.model import OrderId, is_alive, row_of
from keyfence.domains.orders.place_order import NO_CUSTOMER, created_note
from keyfence.domains.orders.repository import OrderDetails
from keyfence.domains.products.access_patterns import product_by_id
from keyfence.domains.sales.sales import Deltas, SalesRepository, sales_deltas
from keyfence.errors import BadInput
from keyfence.store.expressions import present
from keyfence.store.table import Table
from keyfence.store.writes import Write, check, retry_if_stale


async def find(table: Table, wanted: Sequence[OrderRecord]) -> list[OrderRecord | None]:
    return await load(table, [one.order.id for one in wanted])


async def load(table: Table, ids: Sequence[OrderId]) -> list[OrderRecord | None]:
    """In the bin or not; with the events that made them what they were when they were found."""
    found = await table.find_many(order_by_id, [{"id": id} for id in ids])
    there = [order for order in found if order]
    parts = OrderDetails(table)
    lines, histories = await parts.items_of(there), await parts.histories_of(there)
    whole = {
        order.id: OrderRecord(order, tuple(some), tuple(happened[: order.version]))
        for order, some, happened in zip(there, lines, histories, strict=True)
    }
    return [whole.get(id) for id in ids]


async def write(writer: RecordWriter, whole: OrderRecord) -> None:
    """With what it means for the sales of its products, which others may change at the same time."""
    await _require_products(writer, whole)
    head, sold = _head(whole), _sold(whole)
    parts = await writer.ahead(_parts(whole), len(head) + len(sold))

    async def attempt() -> None:
        await writer.write(
            *head, *await SalesRepository(writer.table).writes(sold), *parts, note=created_note("imported", whole.order)
        )

    await retry_if_stale(attempt)


async def _require_products(writer: RecordWriter, whole: OrderRecord) -> None:
    wanted = [item.product_id for item in whole.items if item.product_id not in writer.known]
    found = await writer.table.find_many(product_by_id, [{"id": id} for id in wanted])
    writer.known.update(product.id for product in found if product)
    for at, item in enumerate(whole.items):
        if item.product_id not in writer.known:
            raise BadInput("no such product", field=f"items[{at}].productId")


def _head(whole: OrderRecord) -> list[Write[Any]]:
    order = whole.order
    customer = check(buyers, {"id": order.customer_id}, when=present(), on_failure=NO_CUSTOMER)
    row = [put_new(rows, row_of(order))] if is_alive(order) else []
    return [put_new(orders, order), customer, *row]


def _parts(whole: OrderRecord) -> list[Write[Any]]:
    return [*(put_new(items, item) for item in whole.items), *(put_new(events, event) for event in whole.events)]


def _sold(whole: OrderRecord) -> Deltas:
    return sales_deltas(None, whole.order, whole.items)


def _touches(whole: OrderRecord) -> Iterable[Hashable]:
    return whole.order.id, *_sold(whole)


RECORDS = RecordKind(
    name="order",
    read=bulk_format.order_from_fields,
    spell=bulk_format.order_to_line,
    find=find,
    write=write,
    touches=_touches,
)
