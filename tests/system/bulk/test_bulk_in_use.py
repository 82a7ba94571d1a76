"""An export of a tenant that is in use has each record once, after the records that it refers to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import orjson
import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.bulk import record_kind
from keyfence.bulk.exporter import Exporter
from keyfence.bulk.json_lines import Line, encode_line
from keyfence.domains.categories.access_patterns import moves
from keyfence.domains.categories.model import CategoryMove, MoveId
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.customers.repository import CustomerRepository
from keyfence.domains.orders.access_patterns import deleted_orders
from keyfence.domains.orders.line_items import LineItem, ProductId, RequestedLine
from keyfence.domains.orders.model import OrderRow, OrderStatus
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import OrderDetails, checked_order_id
from keyfence.domains.products.model import Product
from keyfence.domains.products.model import ProductId as ProductsProductId
from keyfence.domains.products.repository import ProductRepository
from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.table import Table
from keyfence.store.writes import put
from keyfence_iam.tenant import TenantId
from tests.data.bulk_lines import line_with
from tests.data.full_tenant import SMALL, FullTenant, content, export_all, import_all
from tests.stack import ServiceStack

ORDERS = [{**SMALL["order"], "id": f"{SMALL['order']['id'][:-2]}{number:02}"} for number in range(12)]
ConcurrentChange = Callable[[FullTenant], Awaitable[object]]


@pytest.fixture
async def table(stack: ServiceStack, tenant: TenantId) -> Table:
    table = stack.table(tenant)
    await import_all(table, content(*list(SMALL.values())[:3], *ORDERS))
    return table


async def export_during_change(table: Table, change_after: int, change: ConcurrentChange) -> list[Line]:
    """Returns the lines of an export. Makes the change after the line with the number `change_after`."""
    lines: list[Line] = []
    async for line in Exporter(table, load_domains().record_kinds).lines():
        lines.append(line)
        if len(lines) == change_after:
            await change(FullTenant.on(table))
    return lines


def record_ids(lines: list[Line]) -> list[str]:
    return [str(line.get("id", line.get("path"))) for line in lines]


async def create_order_of_new_records(tenant: FullTenant) -> None:
    await CategoryRepository(tenant.table).create(["new"])
    await CategoryRepository(tenant.table).create(["new", "newer"])
    product = await ProductRepository(tenant.table, "clerk").create(
        sku="NEW", name="New", price=Decimal(1), currency="EUR", category=["new", "newer"]
    )
    customer = await CustomerRepository(tenant.table).create(name="Newcomer", email=None)
    await tenant.place(customer.id, RequestedLine(ProductId(product.id), 1))


@pytest.mark.parametrize("change_after", [1, 2, 3])
async def test_records_created_during_an_export_come_after_the_records_that_they_refer_to(
    stack: ServiceStack, table: Table, change_after: int
) -> None:
    lines = await export_during_change(table, change_after, create_order_of_new_records)
    assert len(record_ids(lines)) == len(set(record_ids(lines)))
    assert {line["id"] for line in ORDERS} <= set(record_ids(lines))
    other = stack.table(await stack.new_tenant())
    await import_all(other, b"".join(map(encode_line, lines)))
    imported_lines = [orjson.loads(line) for line in (await export_all(other)).splitlines()]
    assert sorted(record_ids(imported_lines)) == sorted(record_ids(lines))


async def restore_deleted_orders(tenant: FullTenant) -> None:
    for order in [order async for order in tenant.table.iterate_shards(deleted_orders)]:
        await RecycleBin(tenant.orders).restore(order.id)


async def delete_last_orders(tenant: FullTenant) -> None:
    for line in ORDERS[6:]:
        await RecycleBin(tenant.orders).delete(checked_order_id(line["id"]))


async def restore_and_delete_orders(tenant: FullTenant) -> None:
    await restore_deleted_orders(tenant)
    await delete_last_orders(tenant)


@pytest.mark.parametrize("change_after", [1, 3, 4, 8])
async def test_orders_deleted_or_restored_during_an_export_are_exported_once(
    table: Table, change_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_kind, "LOAD_BATCH", 2)
    for line in ORDERS[:3]:
        await RecycleBin(FullTenant.on(table).orders).delete(checked_order_id(line["id"]))
    lines = await export_during_change(table, change_after, restore_and_delete_orders)
    assert sorted(record_ids(lines[3:])) == sorted(line["id"] for line in ORDERS)


async def test_a_product_revised_while_it_is_read_is_exported_as_it_was_read(
    stack: ServiceStack, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_many = ProductRepository.find_many

    async def find_and_revise(products: ProductRepository, ids: Sequence[ProductsProductId]) -> list[Product | None]:
        found = await find_many(products, ids)
        for id in ids:
            await ProductRepository(FullTenant.on(table).table, "clerk").revise(id, price=Decimal(9))
        return found

    monkeypatch.setattr(ProductRepository, "find_many", find_and_revise)
    exported = await export_all(table)
    monkeypatch.undo()
    await import_all(stack.table(await stack.new_tenant()), exported)
    (product,) = [line for line in map(orjson.loads, exported.splitlines()) if line["type"] == "product"]
    assert (product["price"], len(product["revisions"])) == (SMALL["product"]["price"], 1)


async def test_an_order_changed_while_it_is_read_is_exported_as_it_was_read(
    stack: ServiceStack, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = stack.table(tenant)
    await import_all(
        table, content(*list(SMALL.values())[:3], line_with("order", events=None, version=None, status="PENDING"))
    )
    items_of = OrderDetails.items_of

    async def transition_and_read(details: OrderDetails, orders: Sequence[OrderRow]) -> list[list[LineItem]]:
        await FullTenant.on(table).orders.transition(orders[0].id, OrderStatus.CONFIRMED)
        return await items_of(details, orders)

    monkeypatch.setattr(OrderDetails, "items_of", transition_and_read)
    exported = await export_all(table)
    monkeypatch.undo()
    await import_all(stack.table(await stack.new_tenant()), exported)
    assert [line.get("status") for line in map(orjson.loads, exported.splitlines())][-1] == "PENDING"


async def test_an_export_during_the_move_of_a_category_is_refused(table: Table) -> None:
    now = timestamps.utc_now()
    move = CategoryMove(id=MoveId("mov_1"), source=("office",), target=("x",), created_at=now, updated_at=now)
    with pytest.raises(Conflict, match="was moved during the export"):
        await export_during_change(
            table, 3, lambda tenant: tenant.table.write(put(moves, replace(move, finished_at=now)))
        )
    await table.write(put(moves, move))
    with pytest.raises(Conflict, match="is being moved"):
        await export_all(table)
