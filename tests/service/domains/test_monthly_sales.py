"""The effect of an order's transitions on the monthly sales."""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.domains.orders.model import OrderStatus
from keyfence.domains.sales.monthly_sales import (
    SOLD_STATUSES,
    MonthlySales,
    ProductMonth,
    checked_month,
    monthly_sales,
    sales_changes,
    start_of_month,
)
from keyfence.errors import BadInput
from keyfence.store.shards import UNSHARDED
from tests.fakes.fences import tenant_fence

PLACED_AT = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
STATUSES = st.sampled_from(OrderStatus)


@dataclass(frozen=True, slots=True)
class FakeOrder:
    """The fields of an order that sales need."""

    status: str
    created_at: datetime = PLACED_AT


@dataclass(frozen=True, slots=True)
class FakeItem:
    """The fields of an order's item that sales need."""

    product_id: str
    quantity: int


ITEMS = st.lists(st.builds(FakeItem, st.sampled_from("abc"), st.integers(1, 10_000)), min_size=1, max_size=6)


@given(st.lists(STATUSES, min_size=1, max_size=8), ITEMS)
def test_after_any_transitions_an_order_counts_once_or_not_at_all(
    statuses: list[OrderStatus], items: list[FakeItem]
) -> None:
    orders = [None, *(FakeOrder(status) for status in statuses)]
    added: Counter[ProductMonth] = Counter()
    for before, after in itertools.pairwise(orders):
        added.update(sales_changes(before, after, items))
    expected: Counter[ProductMonth] = Counter()
    for item in items:
        expected[ProductMonth(NOVEMBER, item.product_id)] += item.quantity if statuses[-1] in SOLD_STATUSES else 0
    assert +added == +expected
    assert min(added.values(), default=0) >= 0


@given(STATUSES, ITEMS)
def test_a_reversed_change_subtracts_what_it_added(status: OrderStatus, items: list[FakeItem]) -> None:
    order = FakeOrder(status)
    added, subtracted = sales_changes(None, order, items), sales_changes(order, None, items)
    assert {product_month: -quantity for product_month, quantity in added.items()} == dict(subtracted)


def test_confirmation_adds_sales_and_cancellation_subtracts_them() -> None:
    pending, confirmed, cancelled = FakeOrder("PENDING"), FakeOrder("CONFIRMED"), FakeOrder("CANCELLED")
    items = [FakeItem("pen", 2), FakeItem("ink", 1), FakeItem("pen", 3)]
    assert sales_changes(None, pending, items) == {}
    assert sales_changes(pending, confirmed, items) == {
        ProductMonth(NOVEMBER, "pen"): 5,
        ProductMonth(NOVEMBER, "ink"): 1,
    }
    assert sales_changes(confirmed, FakeOrder("SHIPPED"), items) == {}
    assert sales_changes(confirmed, cancelled, items) == {
        ProductMonth(NOVEMBER, "pen"): -5,
        ProductMonth(NOVEMBER, "ink"): -1,
    }
    assert sales_changes(pending, cancelled, items) == {}
    assert sales_changes(None, None, items) == {}


def test_the_month_is_that_of_the_order_in_utc() -> None:
    other_zone = replace(FakeOrder("CONFIRMED"), created_at=PLACED_AT.astimezone(timezone(timedelta(hours=5))))
    assert list(sales_changes(None, other_zone, [FakeItem("pen", 1)])) == [ProductMonth(NOVEMBER, "pen")]
    assert start_of_month(PLACED_AT + timedelta(minutes=30)) == datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-00", "2026-1", "26-11", "0000-01", "2026-11-01", " 2026-11", "\u0662026-11"]
)
def test_a_month_is_written_as_year_and_month(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_month(text)
    assert refusal.value.extensions == {"field": "month"}
    assert checked_month("2026-11") == NOVEMBER


def test_sales_are_ranked_by_quantity_and_leave_the_ranking_at_zero() -> None:
    fence = tenant_fence("acme")
    sold = MonthlySales(id="prd_1", total=42, created_at=NOVEMBER, updated_at=PLACED_AT)
    assert monthly_sales.key_pair("table", sold, fence, UNSHARDED) == ("TENANT#acme#PRODUCT#prd_1", "AGG#2026-11")
    assert monthly_sales.key_pair("gsi3", sold, fence, UNSHARDED) == (
        f"{fence.index_prefix}TOP#2026-11#00",
        "0000000042#prd_1",
    )
    assert monthly_sales.key_pair("gsi3", replace(sold, total=0), fence, UNSHARDED) is None
