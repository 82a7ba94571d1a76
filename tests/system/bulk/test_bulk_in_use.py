"""An export of a tenant in use has everything that was there all the time, each thing once, after what it needs."""

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
from keyfence.domains.products.model import ProductId as OfferedId
from keyfence.domains.products.repository import ProductRepository
from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.table import Table
from keyfence.store.writes import put
from keyfence_iam.tenant import TenantId
from tests.data.bulk_lines import changed
from tests.data.full_tenant import SMALL, FullTenant, content, export_all, import_all
from tests.stack import ServiceStack

MANY = [{**SMALL["order"], "id": f"{SMALL['order']['id'][:-2]}{at:02}"} for at in range(12)]
Meanwhile = Callable[[FullTenant], Awaitable[object]]


@pytest.fixture
async def table(stack: ServiceStack, tenant: TenantId) -> Table:
    table = stack.table(tenant)
    await import_all(table, content(*list(SMALL.values())[:3], *MANY))
    return table


async def lines(table: Table, after: int, meanwhile: Meanwhile) -> list[Line]:
    """An export during which something happens after so many lines."""
    read: list[Line] = []
    async for line in Exporter(table, load_domains().record_kinds).lines():
        read.append(line)
        if len(read) == after:
            await meanwhile(FullTenant.on(table))
    return read


def names(read: list[Line]) -> list[str]:
    return [str(line.get("id", line.get("path"))) for line in read]


async def a_new_trade(trade: FullTenant) -> None:
    await CategoryRepository(trade.table).create(["new"])
    await CategoryRepository(trade.table).create(["new", "newer"])
    ware = await ProductRepository(trade.table, "clerk").create(
        sku="NEW", name="New", price=Decimal(1), currency="EUR", category=["new", "newer"]
    )
    customer = await CustomerRepository(trade.table).create(name="Newcomer", email=None)
    await trade.place(customer.id, RequestedLine(ProductId(ware.id), 1))


@pytest.mark.parametrize("after", [1, 2, 3])
async def test_what_comes_meanwhile_comes_after_what_it_needs(stack: ServiceStack, table: Table, after: int) -> None:
    read = await lines(table, after, a_new_trade)
    assert len(names(read)) == len(set(names(read)))
    assert {line["id"] for line in MANY} <= set(names(read))
    other = stack.table(await stack.new_tenant())
    await import_all(other, b"".join(map(encode_line, read)))
    assert sorted(names([orjson.loads(line) for line in (await export_all(other)).splitlines()])) == sorted(names(read))


async def restored(trade: FullTenant) -> None:
    for order in [order async for order in trade.table.iterate_shards(deleted_orders)]:
        await RecycleBin(trade.orders).restore(order.id)


async def deleted(trade: FullTenant) -> None:
    for line in MANY[6:]:
        await RecycleBin(trade.orders).delete(checked_order_id(line["id"]))


async def both(trade: FullTenant) -> None:
    await restored(trade)
    await deleted(trade)


@pytest.mark.parametrize("after", [1, 3, 4, 8])
async def test_what_is_deleted_or_restored_meanwhile_is_there_once(
    table: Table, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_kind, "LOAD_BATCH", 2)
    for line in MANY[:3]:
        await RecycleBin(FullTenant.on(table).orders).delete(checked_order_id(line["id"]))
    read = await lines(table, after, both)
    assert sorted(names(read[3:])) == sorted(line["id"] for line in MANY)


async def test_a_product_that_is_revised_while_it_is_read_is_as_it_was(
    stack: ServiceStack, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_many = ProductRepository.find_many

    async def revising(products: ProductRepository, ids: Sequence[OfferedId]) -> list[Product | None]:
        found = await find_many(products, ids)
        for id in ids:
            await ProductRepository(FullTenant.on(table).table, "clerk").revise(id, price=Decimal(9))
        return found

    monkeypatch.setattr(ProductRepository, "find_many", revising)
    read = await export_all(table)
    monkeypatch.undo()
    await import_all(stack.table(await stack.new_tenant()), read)


async def test_an_order_that_moves_on_while_it_is_read_is_as_it_was(
    stack: ServiceStack, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = stack.table(tenant)
    await import_all(
        table, content(*list(SMALL.values())[:3], changed("order", events=None, version=None, status="PENDING"))
    )
    items_of = OrderDetails.items_of

    async def moving(parts: OrderDetails, orders: Sequence[OrderRow]) -> list[list[LineItem]]:
        await FullTenant.on(table).orders.transition(orders[0].id, OrderStatus.CONFIRMED)
        return await items_of(parts, orders)

    monkeypatch.setattr(OrderDetails, "items_of", moving)
    read = await export_all(table)
    monkeypatch.undo()
    await import_all(stack.table(await stack.new_tenant()), read)
    assert [line.get("status") for line in map(orjson.loads, read.splitlines())][-1] == "PENDING"


async def test_while_a_category_is_moved_there_is_no_export(table: Table) -> None:
    now = timestamps.utc_now()
    move = CategoryMove(id=MoveId("mov_1"), source=("office",), target=("x",), created_at=now, updated_at=now)
    with pytest.raises(Conflict, match="was moved during the export"):
        await lines(table, 3, lambda trade: trade.table.write(put(moves, replace(move, finished_at=now))))
    await table.write(put(moves, move))
    with pytest.raises(Conflict, match="is being moved"):
        await export_all(table)
