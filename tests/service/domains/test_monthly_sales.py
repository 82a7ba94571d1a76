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
from keyfence.store.keys import Fence
from keyfence.store.shards import UNSHARDED
from keyfence_iam.tenant import TenantId

PLACED = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
STATES = st.sampled_from(OrderStatus)


@dataclass(frozen=True, slots=True)
class Placed:
    """As much of an order as sales look at."""

    status: str
    created_at: datetime = PLACED


@dataclass(frozen=True, slots=True)
class Line:
    """As much of a line as sales look at."""

    product_id: str
    quantity: int


LINES = st.lists(st.builds(Line, st.sampled_from("abc"), st.integers(1, 10_000)), min_size=1, max_size=6)


@given(st.lists(STATES, min_size=1, max_size=8), LINES)
def test_after_any_transitions_an_order_counts_once_or_not_at_all(steps: list[OrderStatus], lines: list[Line]) -> None:
    states = [None, *(Placed(status) for status in steps)]
    added: Counter[ProductMonth] = Counter()
    for before, after in itertools.pairwise(states):
        added.update(sales_changes(before, after, lines))
    expected: Counter[ProductMonth] = Counter()
    for line in lines:
        expected[ProductMonth(NOVEMBER, line.product_id)] += line.quantity if steps[-1] in SOLD_STATUSES else 0
    assert +added == +expected
    assert min(added.values(), default=0) >= 0


@given(STATES, LINES)
def test_a_reversed_change_subtracts_what_it_added(status: OrderStatus, lines: list[Line]) -> None:
    order = Placed(status)
    added, taken = sales_changes(None, order, lines), sales_changes(order, None, lines)
    assert {sold: -number for sold, number in added.items()} == dict(taken)


def test_confirmation_adds_sales_and_cancellation_subtracts_them() -> None:
    pending, confirmed, cancelled = Placed("PENDING"), Placed("CONFIRMED"), Placed("CANCELLED")
    lines = [Line("pen", 2), Line("ink", 1), Line("pen", 3)]
    assert sales_changes(None, pending, lines) == {}
    assert sales_changes(pending, confirmed, lines) == {
        ProductMonth(NOVEMBER, "pen"): 5,
        ProductMonth(NOVEMBER, "ink"): 1,
    }
    assert sales_changes(confirmed, Placed("SHIPPED"), lines) == {}
    assert sales_changes(confirmed, cancelled, lines) == {
        ProductMonth(NOVEMBER, "pen"): -5,
        ProductMonth(NOVEMBER, "ink"): -1,
    }
    assert sales_changes(pending, cancelled, lines) == {}
    assert sales_changes(None, None, lines) == {}


def test_the_month_is_that_of_the_order_in_utc() -> None:
    elsewhere = replace(Placed("CONFIRMED"), created_at=PLACED.astimezone(timezone(timedelta(hours=5))))
    assert list(sales_changes(None, elsewhere, [Line("pen", 1)])) == [ProductMonth(NOVEMBER, "pen")]
    assert start_of_month(PLACED + timedelta(minutes=30)) == datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-13", "2026-00", "2026-1", "26-11", "0000-01", "2026-11-01", " 2026-11", "\u0662026-11"]
)
def test_a_month_is_written_as_year_and_month(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_month(text)
    assert refusal.value.extensions == {"field": "month"}
    assert checked_month("2026-11") == NOVEMBER


def test_sales_are_ranked_by_quantity_and_leave_the_ranking_at_zero() -> None:
    fence = Fence.for_tenant(TenantId("acme"))
    sold = MonthlySales(id="prd_1", total=42, created_at=NOVEMBER, updated_at=PLACED)
    assert monthly_sales.key_pair("table", sold, fence, UNSHARDED) == ("TENANT#acme#PRODUCT#prd_1", "AGG#2026-11")
    assert monthly_sales.key_pair("gsi3", sold, fence, UNSHARDED) == ("TENANT#acme#TOP#2026-11#00", "0000000042#prd_1")
    assert monthly_sales.key_pair("gsi3", replace(sold, total=0), fence, UNSHARDED) is None
