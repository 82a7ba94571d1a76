"""A tenant with customers, categories, products and orders in every state."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import orjson

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.exporter import Exporter
from keyfence.bulk.importer import ImportCounts, Importer
from keyfence.bulk.json_lines import encode_line
from keyfence.bulk.record_kind import IMPORTER
from keyfence.domains.activity.activity_log import ActivityRepository, new_activity_log
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.customers.repository import CustomerRepository
from keyfence.domains.orders.line_items import PricedProduct, ProductId, RequestedLine
from keyfence.domains.orders.model import CustomerId, Order, OrderStatus
from keyfence.domains.orders.order_placement import OrderPlacement
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import OrderRepository
from keyfence.domains.orders.review_queue import ReviewQueue
from keyfence.domains.products.repository import ProductRepository, checked_product_id
from keyfence.domains.sales.monthly_sales import SalesRepository, sales_changes
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId
from tests.data import bulk_lines as samples
from tests.data.bulk_lines import LINES, line_with
from tests.fakes.fences import tenant_fence
from tests.stack import ServiceStack

SMALL = {
    "customer": LINES["customer"],
    "category": line_with("category", path=["office"]),
    "product": LINES["product"],
    "order": LINES["order"],
}
"""A line of each kind. They can be imported into an empty tenant."""
STEPS = (OrderStatus.CONFIRMED, OrderStatus.PROCESSING, OrderStatus.SHIPPED, OrderStatus.DELIVERED)


@dataclass(frozen=True, slots=True)
class FullTenant:
    """Writes something of every kind that an export contains."""

    table: Table
    by: str = "clerk"

    @classmethod
    def on(cls, table: Table) -> "FullTenant":
        return cls(replace(table, activity_log=new_activity_log("clerk")))

    @property
    def orders(self) -> OrderRepository:
        return OrderRepository(self.table, self.by)

    async def place(self, customer: str, *lines: RequestedLine, region: str = "north") -> Order:
        async def prices(ids: Sequence[ProductId]) -> Sequence[PricedProduct | None]:
            return await ProductRepository(self.table, self.by).find_many([checked_product_id(id) for id in ids])

        placing = OrderPlacement(self.table, self.by, prices)
        return await placing.place(customer_id=CustomerId(customer), region=region, lines=lines)

    async def advance(self, order: Order, *steps: OrderStatus) -> Order:
        for step in steps:
            order = await self.orders.transition(order.id, step, note=f"to {step}", extra_writes=self._sold)
        return order

    async def _sold(self, before: Order, after: Order) -> list[Any]:
        found = await self.orders.find_with_items(before.id)
        assert found
        return await SalesRepository(self.table).writes(sales_changes(before, after, found[1]))

    async def fill(self) -> None:
        ann = await CustomerRepository(self.table).create(name="Ann", email="ann@x.example")
        bob = await CustomerRepository(self.table).create(name="Bób #2 😀", email=None)
        await CustomerRepository(self.table).update(bob.id, name="Bób %3")
        for path in (["audio"], ["audio", "50% off # new"], ["audiobooks"]):
            await CategoryRepository(self.table).create(path)
        products = ProductRepository(self.table, self.by)
        pen = await products.create(sku="P#1", name="Pen", price=Decimal("1.10"), currency="EUR", category=["audio"])
        ink = await products.create(
            sku="INK", name="Ink", price=Decimal(20), currency="EUR", category=["audio", "50% off # new"]
        )
        for cents in range(3):
            await products.revise(ink.id, price=Decimal(f"21.0{cents}"), category=["audiobooks"])
        wanted = (RequestedLine(ProductId(pen.id), 3), RequestedLine(ProductId(ink.id), 1))
        made = [await self.place(ann.id if at % 2 else bob.id, *wanted) for at in range(9)]
        for at, order in enumerate(made[:5]):
            await self.advance(order, *STEPS[:at])
        await self.advance(made[5], OrderStatus.CONFIRMED, OrderStatus.CANCELLED)
        recycled, reviews = RecycleBin(self.orders), ReviewQueue(self.orders)
        await reviews.flag(made[6].id, "looks odd")
        await reviews.claim()
        await reviews.flag(made[7].id, "looks odd, too")
        for order in (made[2], made[7], made[8]):
            await recycled.delete(order.id)
        await recycled.restore(made[8].id)


async def export_all(table: Table) -> bytes:
    return b"".join([encode_line(line) async for line in Exporter(table, load_domains().record_kinds).lines()])


async def import_all(table: Table, content: bytes) -> ImportCounts:
    return await Importer.for_table(
        replace(table, activity_log=new_activity_log(IMPORTER)), load_domains().record_kinds
    ).run(BytesIO(content))


def content(*lines: Any) -> bytes:
    return samples.bulk_file(*(lines or SMALL.values())).getvalue()


async def activity_counts(table: Table) -> Counter[str]:
    """Returns how often each kind of activity was logged."""
    page = await ActivityRepository(table).latest(first=100, after=None)
    return Counter(one.kind for one in page.items)


Items = dict[tuple[str, str], Any]


def stored_items(stack: ServiceStack, *tenants: TenantId) -> list[Items]:
    """Returns the items of each tenant from the engine, without activities, prefixes of keys and times of sales."""
    pages = stack.engine_client().get_paginator("scan").paginate(TableName=stack.settings.table)
    found = [item for page in pages for item in page["Items"] if item["type"]["S"] != "Activity"]
    return [_own(found, tenant_fence(tenant)) for tenant in tenants]


def _own(found: Sequence[Any], fence: Fence) -> Items:
    own = [orjson.dumps(item).decode() for item in found if fence.contains(item["PK"]["S"])]
    plain = [orjson.loads(text.replace(str(fence.index_prefix), "").replace(fence.prefix, "")) for text in own]
    return {
        (item["PK"]["S"], item["SK"]["S"]): {name: item[name] for name in item if not _is_when(item, name)}
        for item in plain
    }


def _is_when(item: Any, name: str) -> bool:
    return item["type"]["S"] == "MonthlySales" and name in {"updatedAt", "version"}
