"""`MonthlySales`: how many of a product were sold in a month; its keys, its repository, and the effect of an order."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from keyfence.errors import BadInput
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.expressions import absent
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding
from keyfence.store.table import Table
from keyfence.store.writes import Write, put, update_model

SOLD_STATUSES = frozenset({"CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"})
"""An order with one of these statuses counts as sold."""
_MONTH = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlySales:
    """How many of a product were sold in one month. `id` is the product's, `created_at` is the start of the month."""

    id: str
    created_at: datetime
    updated_at: datetime
    total: int
    version: int = 1


class ProductMonth(NamedTuple):
    """A product and the first day of a month."""

    month: datetime
    product_id: str


class SoldOrder(Protocol):
    """The part of an order that sales need."""

    @property
    def status(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


class SoldItem(Protocol):
    """The part of an order's item that sales need."""

    @property
    def product_id(self) -> str: ...
    @property
    def quantity(self) -> int: ...


SalesDeltas = Mapping[ProductMonth, int]


def sales_deltas(before: SoldOrder | None, after: SoldOrder | None, items: Iterable[SoldItem]) -> SalesDeltas:
    """Returns what a change of an order adds to the sales of the month in which it was placed. May be negative."""
    factor = _is_sold(after) - _is_sold(before)
    order = after or before
    if factor == 0 or order is None:
        return {}
    added: Counter[ProductMonth] = Counter()
    for item in items:
        added[ProductMonth(start_of_month(order.created_at), item.product_id)] += factor * item.quantity
    return added


def _is_sold(order: SoldOrder | None) -> int:
    return int(order is not None and order.status in SOLD_STATUSES)


def start_of_month(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def checked_month(text: str) -> datetime:
    if not _MONTH.fullmatch(text):
        raise BadInput("month must be a year and a month, like 2026-11", field="month")
    return datetime(int(text[:4]), int(text[5:]), 1, tzinfo=UTC)


def has_sales(sales: MonthlySales) -> bool:
    return sales.total > 0


monthly_sales = entity(
    MonthlySales,
    table=TenantKey("PRODUCT#{id}", "AGG#{created_at:month}"),
    gsi3=TenantKey(
        "TOP#{created_at:month}",
        "{total:010d}#{id}",
        sharding=Sharding("top_products", hashed_field="id"),
        when=has_sales,
    ),
)

sales_of_month = monthly_sales.get()
top_products = monthly_sales.query("gsi3", newest_first=True)


@dataclass(frozen=True, slots=True)
class SalesRepository:
    """The monthly sales of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def top(self, month: str, *, first: int) -> Sequence[MonthlySales]:
        """Returns the products that sold most in a month, most first."""
        return (await self.table.page(top_products, first=first, created_at=checked_month(month))).items

    async def writes(self, added: SalesDeltas) -> list[Write[Any]]:
        """Returns the writes that add these quantities, for the transaction that changes the order.

        Each requires the version that was read here. So the transaction fails with StaleWrite if the sales of a product
        were changed at the same time."""
        months = list(added)
        found = await self.table.find_many(sales_of_month, [{"id": id, "created_at": month} for month, id in months])
        return [self._write(month, before, added[month]) for month, before in zip(months, found, strict=True)]

    def _write(self, sold: ProductMonth, before: MonthlySales | None, quantity: int) -> Write[Any]:
        now = self.now()
        if before is not None:
            after = replace(before, total=before.total + quantity, updated_at=now, version=before.version + 1)
            return update_model(monthly_sales, before, after)
        first = MonthlySales(id=sold.product_id, total=quantity, created_at=sold.month, updated_at=now)
        return put(monthly_sales, first, when=absent())
