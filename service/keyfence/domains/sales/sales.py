"""`MonthlySales`, keys, repository, deltas of an order."""

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
from keyfence.store.shards import Shard
from keyfence.store.table import Table
from keyfence.store.writes import Write, put, update_model

SOLD_STATUSES = frozenset({"CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"})
"""The states of an order that is sold."""
_MONTH = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlySales:
    """How many of a product were sold in the orders of the month that `created_at` begins; `id` is the product's."""

    id: str
    created_at: datetime
    updated_at: datetime
    total: int
    version: int = 1


class ProductMonth(NamedTuple):
    """A product in the month that begins then."""

    month: datetime
    product_id: str


class Order(Protocol):
    """What sales need to know of an order."""

    @property
    def status(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


class Item(Protocol):
    """What sales need to know of a line of an order."""

    @property
    def product_id(self) -> str: ...
    @property
    def quantity(self) -> int: ...


Deltas = Mapping[ProductMonth, int]


def sales_deltas(before: Order | None, after: Order | None, items: Iterable[Item]) -> Deltas:
    """What the step of an order from one state to another adds to the month in which it was made."""
    step = _counts(after) - _counts(before)
    order = after or before
    if step == 0 or order is None:
        return {}
    added: Counter[ProductMonth] = Counter()
    for item in items:
        added[ProductMonth(month_of(order.created_at), item.product_id)] += step * item.quantity
    return added


def _counts(order: Order | None) -> int:
    return int(order is not None and order.status in SOLD_STATUSES)


def month_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def checked_month(text: str) -> datetime:
    if not _MONTH.fullmatch(text):
        raise BadInput("month must be a year and a month, like 2026-11", field="month")
    return datetime(int(text[:4]), int(text[5:]), 1, tzinfo=UTC)


def is_sold(sales: MonthlySales) -> bool:
    return sales.total > 0


monthly_sales = entity(
    MonthlySales,
    table=TenantKey("PRODUCT#{id}", "AGG#{created_at:month}"),
    gsi3=TenantKey("TOP#{created_at:month}", "{total:010d}#{id}", shard=Shard("top_products", by="id"), when=is_sold),
)

sales_of_month = monthly_sales.get()
top_products = monthly_sales.query("gsi3", newest_first=True)


@dataclass(frozen=True, slots=True)
class SalesRepository:
    """What was sold most, and how that is kept."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def top(self, month: str, *, first: int) -> Sequence[MonthlySales]:
        """The best selling products of a month, best first."""
        return (await self.table.page(top_products, first=first, created_at=checked_month(month))).items

    async def writes(self, added: Deltas) -> list[Write[Any]]:
        """What keeps these sales, for the transaction of the order that they come from.

        Each is bound to what was read here: somebody who sold at the same time makes the transaction Stale."""
        wanted = list(added)
        found = await self.table.find_many(sales_of_month, [{"id": id, "created_at": month} for month, id in wanted])
        return [self._write(one, before, added[one]) for one, before in zip(wanted, found, strict=True)]

    def _write(self, sold: ProductMonth, before: MonthlySales | None, quantity: int) -> Write[Any]:
        now = self.now()
        if before is not None:
            after = replace(before, total=before.total + quantity, updated_at=now, version=before.version + 1)
            return update_model(monthly_sales, before, after)
        made = MonthlySales(id=sold.product_id, total=quantity, created_at=sold.month, updated_at=now)
        return put(monthly_sales, made, when=absent())
