"""Checks and keys of products, without a table."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.domains.products.access_patterns import product_revisions, products, sku_claims
from keyfence.domains.products.model import (
    MAX_PRICE,
    Product,
    ProductId,
    checked_currency,
    checked_price,
    checked_sku,
    revision_of,
    sku_claim,
    view_counter_name,
)
from keyfence.errors import BadInput
from keyfence.store.shards import UNSHARDED
from tests.data.bookshop import OPENING
from tests.fakes.fences import tenant_fence

ACME = tenant_fence("acme")
PRICES = st.decimals(0, MAX_PRICE, places=2)


def product(**fields: Any) -> Product:
    defaults: dict[str, Any] = {
        "id": ProductId("prd_1"),
        "sku": "A-1",
        "name": "Pen",
        "price": Decimal("149.9"),
        "currency": "EUR",
        "category": ("office", "pens"),
        "created_at": OPENING,
        "updated_at": OPENING,
    }
    return Product(**{**defaults, **fields})


@given(PRICES)
def test_a_price_is_exact(price: Decimal) -> None:
    assert checked_price(price) == price


@pytest.mark.parametrize(
    "text", ["-0.01", "-1", "10000000", "9999999.991", "0.001", "NaN", "sNaN", "Infinity", "1E-400"]
)
def test_an_invalid_price_is_bad_input_with_the_name_of_the_field(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        checked_price(Decimal(text), "minPrice")
    assert refusal.value.extensions == {"field": "minPrice"}


def test_negative_zero_becomes_zero() -> None:
    assert str(checked_price(Decimal("-0"))) == "0.00"


@given(PRICES, PRICES)
def test_products_of_a_category_are_sorted_by_price(one: Decimal, other: Decimal) -> None:
    first, second = (products.key_pair("gsi3", product(price=price), ACME, UNSHARDED) for price in (one, other))
    assert first is not None
    assert second is not None
    assert (first.sort < second.sort) == (one < other)
    assert first.partition == second.partition == f"{ACME.index_prefix}CATEGORY#office#pens#00"


def test_a_product_its_sku_claim_and_its_revisions_have_documented_keys() -> None:
    pen = product(revision=12)
    assert products.key_pair("table", pen, ACME, UNSHARDED) == ("TENANT#acme#PRODUCT#prd_1", "v0000")
    assert products.keys["gsi3"].sort.render({"price": pen.price, "id": pen.id}) == "PRICE#0000149.90#prd_1"
    assert sku_claims.key_pair("table", sku_claim(pen), ACME, UNSHARDED) == ("TENANT#acme#SKU#A-1", "PRODUCT")
    revision = revision_of(pen, "ann")
    assert product_revisions.key_pair("table", revision, ACME, UNSHARDED) == ("TENANT#acme#PRODUCT#prd_1", "v0012")
    assert (revision.name, revision.price, revision.actor, revision.created_at) == (
        "Pen",
        pen.price,
        "ann",
        pen.updated_at,
    )


def test_a_sku_claim_has_all_fields_of_the_product() -> None:
    claim = sku_claim(product(revision=3, version=5))
    assert {name: getattr(claim, name) for name in Product.__dataclass_fields__} == {
        name: getattr(product(revision=3, version=5), name) for name in Product.__dataclass_fields__
    }


@pytest.mark.parametrize("currency", ["", "eur", "EURO", "EU", "E R", "ÄÖÜ", "EUR\n"])
def test_a_currency_is_three_capital_letters(currency: str) -> None:
    with pytest.raises(BadInput, match="currency"):
        checked_currency(currency)


def test_a_sku_is_a_case_sensitive_line() -> None:
    assert checked_sku("aB#1 %") == "aB#1 %"
    for wrong in ("", " ", "a\nb", "x" * 101):
        with pytest.raises(BadInput, match="sku"):
            checked_sku(wrong)


def test_two_products_have_two_view_counters() -> None:
    assert view_counter_name(ProductId("prd_1")) != view_counter_name(ProductId("prd_2"))
