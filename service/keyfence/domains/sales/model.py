"""Monthly sales, and what a change of an order means for them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from keyfence.errors import BadInput

COUNTED = frozenset({"CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"})
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


class Sold(NamedTuple):
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


Deltas = Mapping[Sold, int]


def deltas(before: Order | None, after: Order | None, items: Iterable[Item]) -> Deltas:
    """What the step of an order from one state to another adds to the month in which it was made."""
    step = _counts(after) - _counts(before)
    order = after or before
    if step == 0 or order is None:
        return {}
    added: Counter[Sold] = Counter()
    for item in items:
        added[Sold(month_of(order.created_at), item.product_id)] += step * item.quantity
    return added


def _counts(order: Order | None) -> int:
    return int(order is not None and order.status in COUNTED)


def month_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def checked_month(text: str) -> datetime:
    if not _MONTH.fullmatch(text):
        raise BadInput("month must be a year and a month, like 2026-11", field="month")
    return datetime(int(text[:4]), int(text[5:]), 1, tzinfo=UTC)


def is_sold(sales: MonthlySales) -> bool:
    return sales.total > 0
