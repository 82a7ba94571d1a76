"""`MonthlySales`: the quantity of a product that was sold in a month, with its keys and its repository."""

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
    """The quantity of a product that was sold in one month. `id` is the id of the product. `created_at` is the start of
    the month."""

    id: str
    created_at: datetime
    updated_at: datetime
    total: int
    version: int = 1


class ProductMonth(NamedTuple):
    """A product, and the start of a month in UTC."""

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


SalesChanges = Mapping[ProductMonth, int]
"""The quantity to add to the sales of a product in a month. Negative quantities are subtracted."""


def sales_changes(before: SoldOrder | None, after: SoldOrder | None, items: Iterable[SoldItem]) -> SalesChanges:
    """Returns how a change of an order changes the sales of the month in which the order was placed."""
    order = after or before
    if order is None or _is_sold(before) == _is_sold(after):
        return {}
    sign = 1 if _is_sold(after) else -1
    changes: Counter[ProductMonth] = Counter()
    for item in items:
        changes[ProductMonth(start_of_month(order.created_at), item.product_id)] += sign * item.quantity
    return changes


def _is_sold(order: SoldOrder | None) -> bool:
    return order is not None and order.status in SOLD_STATUSES


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
        """Returns the sales of a month, largest quantity first."""
        return (await self.table.page(top_products, first=first, created_at=checked_month(month))).items

    async def writes(self, changes: SalesChanges) -> list[Write[Any]]:
        """Returns the writes that add these quantities, for the transaction that changes the order.

        Each write requires the version that is read here. So the transaction fails with StaleWrite if another request
        changes the sales of the same product at the same time."""
        keys = [{"id": id, "created_at": month} for month, id in changes]
        stored = await self.table.find_many(sales_of_month, keys)
        return [
            self._write(product_month, before, quantity)
            for (product_month, quantity), before in zip(changes.items(), stored, strict=True)
        ]

    def _write(self, product_month: ProductMonth, before: MonthlySales | None, quantity: int) -> Write[Any]:
        now = self.now()
        if before is not None:
            after = replace(before, total=before.total + quantity, updated_at=now, version=before.version + 1)
            return update_model(monthly_sales, before, after)
        first_sales = MonthlySales(
            id=product_month.product_id, total=quantity, created_at=product_month.month, updated_at=now
        )
        return put(monthly_sales, first_sales, when=absent())
