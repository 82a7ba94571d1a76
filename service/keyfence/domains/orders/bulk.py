"""Import and export of orders, each with its items and its events."""

from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from keyfence.bulk.record_kind import RecordKind, RecordWriter, load_in_batches, put_new
from keyfence.domains.customers.access_patterns import newest_customers
from keyfence.domains.orders.access_patterns import (
    customer_refs,
    deleted_orders,
    order_by_id,
    order_events,
    order_items,
    order_rows,
    orders,
    orders_of_customer,
)
from keyfence.domains.orders.bulk_record import OrderRecord, from_fields, to_line
from keyfence.domains.orders.model import OrderId, has_expired, is_alive, order_row
from keyfence.domains.orders.order_placement import CUSTOMER_NOT_FOUND, created_note
from keyfence.domains.orders.repository import OrderDetails
from keyfence.domains.products.access_patterns import product_by_id
from keyfence.domains.sales.monthly_sales import SalesChanges, SalesRepository, sales_changes
from keyfence.errors import BadInput
from keyfence.store.expressions import present
from keyfence.store.table import Table
from keyfence.store.writes import Write, check, retry_if_stale


async def load(table: Table, ids: Sequence[OrderId]) -> list[OrderRecord | None]:
    """Returns each order with its items and the events up to the version that was read. Includes deleted orders."""
    orders_or_none = await table.find_many(order_by_id, [{"id": id} for id in ids])
    found = [order for order in orders_or_none if order]
    details = OrderDetails(table)
    items_of_each, histories = await details.items_of(found), await details.histories_of(found)
    records = {
        order.id: OrderRecord(order, tuple(items), tuple(history[: order.version]))
        for order, items, history in zip(found, items_of_each, histories, strict=True)
    }
    return [records.get(id) for id in ids]


def load_all(table: Table) -> AsyncIterator[OrderRecord]:
    return load_in_batches(_order_ids(table), partial(load, table))


async def _order_ids(table: Table) -> AsyncIterator[OrderId]:
    """Yields the ids of all orders, some of them twice.

    Reads the recycle bin before and after the lists of the customers, to find orders that are deleted or restored
    during the export."""
    deleted_before = [order.id async for order in table.iterate(deleted_orders)]
    async for customer in table.iterate(newest_customers):
        async for row in table.iterate(orders_of_customer, customer_id=customer.id):
            yield row.id
    deleted_after = [order.id async for order in table.iterate(deleted_orders)]
    for id in dict.fromkeys((*deleted_before, *deleted_after)):
        yield id


async def write(writer: RecordWriter, record: OrderRecord) -> None:
    """Writes the order and adds its items to the monthly sales.

    Retries if another request changes the sales of the same products at the same time."""
    await _require_products(writer, record)
    writes, sales = _order_writes(record), _sales(record)
    detail_writes = await writer.write_overflow(_detail_writes(record), len(writes) + len(sales))

    async def attempt() -> None:
        sales_writes = await SalesRepository(writer.table).writes(sales)
        await writer.write(*writes, *sales_writes, *detail_writes, note=created_note("imported", record.order))

    await retry_if_stale(attempt)


async def _require_products(writer: RecordWriter, record: OrderRecord) -> None:
    unknown = [item.product_id for item in record.items if item.product_id not in writer.known_ids]
    found = await writer.table.find_many(product_by_id, [{"id": id} for id in unknown])
    writer.known_ids.update(product.id for product in found if product)
    for position, item in enumerate(record.items):
        if item.product_id not in writer.known_ids:
            raise BadInput("no such product", field=f"items[{position}].productId")


def _order_writes(record: OrderRecord) -> list[Write[Any]]:
    order = record.order
    check_customer = check(customer_refs, {"id": order.customer_id}, when=present(), on_failure=CUSTOMER_NOT_FOUND)
    row_writes = [put_new(order_rows, order_row(order))] if is_alive(order) else []
    return [put_new(orders, order), check_customer, *row_writes]


def _detail_writes(record: OrderRecord) -> list[Write[Any]]:
    return [
        *(put_new(order_items, item) for item in record.items),
        *(put_new(order_events, event) for event in record.events),
    ]


def _sales(record: OrderRecord) -> SalesChanges:
    return sales_changes(None, record.order, record.items)


def _lock_keys(record: OrderRecord) -> Iterable[Hashable]:
    return record.order.id, *_sales(record)


def _references(record: OrderRecord) -> Iterator[tuple[str, str]]:
    yield "customer", record.order.customer_id
    yield from (("product", item.product_id) for item in record.items)


RECORD_KIND = RecordKind(
    name="order",
    plural="orders",
    from_fields=from_fields,
    to_line=to_line,
    key=lambda record: record.order.id,
    load=load,
    load_all=load_all,
    write=write,
    lock_keys=_lock_keys,
    references=_references,
    depends_on=("customer", "product"),
    is_expired=lambda record, now: has_expired(record.order, now),
)
