"""Amounts have exact texts, and equal amounts have equal texts."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.codec import amount_text, encode

AMOUNTS = st.decimals(min_value=0, max_value=Decimal(10) ** 12, places=2)


@pytest.mark.parametrize(
    ("amount", "text"),
    [("10", "10.00"), ("10.00", "10.00"), ("149.9", "149.90"), ("1E+2", "100.00"), ("0", "0.00"), ("0.1250", "0.125")],
)
def test_an_amount_has_two_decimals_or_as_many_as_it_needs(amount: str, text: str) -> None:
    assert amount_text(Decimal(amount)) == text


@given(AMOUNTS)
def test_an_amount_has_the_same_text_before_and_after_it_is_stored(amount: Decimal) -> None:
    stored = encode(amount.normalize())["N"]
    assert amount_text(Decimal(stored)) == amount_text(amount) == f"{amount:.2f}"
