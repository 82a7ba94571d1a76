"""Orders of one customer in a tenant's table, with a price list in place of stored products."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from keyfence.domains.activity.activity_log import new_activity_log
from keyfence.domains.customers.repository import CustomerRepository
from keyfence.domains.orders.line_items import PricedProduct, ProductId, RequestedLine
from keyfence.domains.orders.model import CustomerId, Order, OrderRow
from keyfence.domains.orders.order_placement import OrderPlacement
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import OrderDetails, OrderRepository
from keyfence.domains.orders.review_queue import ReviewQueue
from keyfence.store import timestamps
from keyfence.store.pagination import Page
from keyfence.store.table import Table


@dataclass(frozen=True, slots=True)
class Ware:
    """A product of the price list."""

    sku: str
    price: Decimal
    currency: str = "EUR"


PEN, INK, YEN = ProductId("prd_pen"), ProductId("prd_ink"), ProductId("prd_yen")
PRICES = {
    PEN: Ware("PEN", Decimal("1.10")),
    INK: Ware("INK", Decimal("0.07")),
    YEN: Ware("YEN", Decimal(100), "JPY"),
}


async def prices(products: Sequence[ProductId]) -> list[PricedProduct | None]:
    return [PRICES.get(product) for product in products]


@dataclass(frozen=True, slots=True)
class Shop:
    """The repositories of orders for one user."""

    table: Table
    customer: CustomerId
    now: Callable[[], datetime] = timestamps.utc_now
    by: str = "clerk"

    @classmethod
    async def opened(cls, table: Table) -> "Shop":
        noted = replace(table, activity_log=new_activity_log("clerk"))
        customer = await CustomerRepository(noted).create(name="Ann", email=None)
        return cls(noted, CustomerId(customer.id))

    @property
    def orders(self) -> OrderRepository:
        return OrderRepository(self.table, self.by, self.now)

    @property
    def placing(self) -> OrderPlacement:
        return OrderPlacement(self.table, self.by, prices, self.now)

    @property
    def reviews(self) -> ReviewQueue:
        return ReviewQueue(self.orders)

    @property
    def bin(self) -> RecycleBin:
        return RecycleBin(self.orders)

    @property
    def parts(self) -> OrderDetails:
        return OrderDetails(self.table)

    async def place(self, *lines: RequestedLine, **given: Any) -> Order:
        wanted: dict[str, Any] = {
            "customer_id": self.customer,
            "region": "north",
            "lines": lines or (RequestedLine(PEN, 1),),
        }
        return await self.placing.place(**{**wanted, **given})

    async def lists(self) -> dict[str, list[str]]:
        """Returns the ids of orders in each list that can contain them."""
        pages: dict[str, Page[Any]] = {
            "customer": await self.orders.of_customer(self.customer, first=100, after=None),
            "open": await self.orders.open_orders(first=100, after=None),
            "region": await self.orders.of_region("north", first=100, after=None),
            "review": await self.reviews.oldest(first=100, after=None),
            "bin": await self.bin.newest(first=100, after=None),
        }
        return {name: [order.id for order in page.items] for name, page in pages.items()}

    async def kinds(self, order: OrderRow) -> list[str]:
        return [event.kind for event in await self.parts.history(order.id)]
