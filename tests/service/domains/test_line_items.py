"""Items and totals of an order, and idempotency keys."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.domains.orders.idempotency_key import (
    RETENTION,
    checked_key,
    is_expired,
    new_idempotency_key,
    request_fingerprint,
)
from keyfence.domains.orders.line_items import (
    MAX_LINES,
    MAX_QUANTITY,
    PricedProduct,
    ProductId,
    RequestedLine,
    checked_lines,
    checked_products,
    new_line_items,
    order_total,
)
from keyfence.domains.orders.model import CustomerId, OrderId
from keyfence.errors import BadInput
from tests.data.bookshop import OPENING

ANN, PEN, ID = CustomerId("cus_ann"), ProductId("prd_pen"), OrderId("ord_1")
prices = st.decimals(0, Decimal("9999999999999.99"), places=2)
quantities = st.integers(1, MAX_QUANTITY)


@dataclass(frozen=True, slots=True)
class FakeProduct:
    """The fields of a product that orders need."""

    price: Decimal
    currency: str = "EUR"
    sku: str = "PEN"


@given(st.lists(st.tuples(prices, quantities), min_size=1, max_size=MAX_LINES))
def test_a_total_is_exact(lines: list[tuple[Decimal, int]]) -> None:
    requested = [RequestedLine(PEN, quantity) for _, quantity in lines]
    products = [FakeProduct(price) for price, _ in lines]
    items = new_line_items(ID, requested, products, OPENING)
    total = order_total(items, "EUR")
    assert Fraction(total.total) == sum(Fraction(price) * quantity for price, quantity in lines)
    assert total.item_count == len(lines)
    assert [item.position for item in items] == list(range(1, len(lines) + 1))


def test_prices_with_the_most_digits_are_added_exactly() -> None:
    fine, coarse = Decimal("1E-18"), Decimal(10**19)
    items = new_line_items(
        ID, [RequestedLine(PEN, 1), RequestedLine(PEN, MAX_QUANTITY)], [FakeProduct(fine), FakeProduct(coarse)], OPENING
    )
    assert Fraction(order_total(items, "EUR").total) == Fraction(fine) + Fraction(coarse) * MAX_QUANTITY


@pytest.mark.parametrize("count", [0, MAX_LINES + 1])
def test_an_order_has_from_one_to_ninety_lines(count: int) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_lines([RequestedLine(PEN, 1)] * count)
    assert refusal.value.extensions == {"field": "items"}
    assert len(checked_lines([RequestedLine(PEN, 1)] * MAX_LINES)) == MAX_LINES


@given(st.integers(max_value=0) | st.integers(10_001))
def test_a_quantity_is_from_one_to_ten_thousand(quantity: int) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_lines([RequestedLine(PEN, 1), RequestedLine(PEN, quantity), RequestedLine(PEN, 10_000)])
    assert refusal.value.extensions == {"field": "quantity", "position": 2}


def test_products_must_exist_and_have_one_currency() -> None:
    euro, yen = FakeProduct(Decimal(1)), FakeProduct(Decimal(1), "JPY")
    assert checked_products([euro, euro]) == [euro, euro]
    missing: list[PricedProduct | None] = [euro, None]
    with pytest.raises(BadInput) as refusal:
        checked_products(missing)
    assert refusal.value.extensions == {"field": "productId", "position": 2}
    with pytest.raises(BadInput, match="EUR, JPY"):
        checked_products([yen, euro])


requests = st.tuples(
    st.sampled_from(["cus_1", "cus_2"]),
    st.sampled_from(["n", "s", 'n",[["p",1]]']),
    st.lists(st.tuples(st.sampled_from(["p", "q"]), st.integers(1, 12)), min_size=1, max_size=3),
)


@given(requests, requests)
def test_only_equal_requests_have_equal_fingerprints(
    first: tuple[str, str, list[tuple[str, int]]], second: tuple[str, str, list[tuple[str, int]]]
) -> None:
    fingerprints = [
        request_fingerprint(
            CustomerId(customer), region, [RequestedLine(ProductId(product), quantity) for product, quantity in lines]
        )
        for customer, region, lines in (first, second)
    ]
    assert (fingerprints[0] == fingerprints[1]) == (first == second)


def test_a_key_expires_after_a_week() -> None:
    key = new_idempotency_key("k", ID, "f", OPENING, None)
    assert not is_expired(key, OPENING + RETENTION - timedelta(seconds=1))
    assert is_expired(key, OPENING + RETENTION)
    assert new_idempotency_key("k", ID, "f", OPENING, key).version == 2


@pytest.mark.parametrize("key", ["", " ", "a\nb", "k" * 201])
def test_a_key_is_a_printable_line(key: str) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_key(key)
    assert refusal.value.extensions == {"field": "idempotencyKey"}
    assert checked_key(None) is None
