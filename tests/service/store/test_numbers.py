"""A number is stored to its last digit, or refused."""

from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.codec import decode_model, encode, encode_model


@dataclass(frozen=True)
class Price:
    exact: Decimal


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-60, 60))
@example(10**38 - 1, 60)
@example(10**38 - 1, -60)
def test_a_number_of_38_digits_is_stored_exactly(digits: int, exponent: int) -> None:
    one = Price(exact=Decimal(f"{digits}E{exponent}"))
    assert decode_model(Price, encode_model(one)) == one


@given(st.integers(10**38, 10**39 - 1).filter(lambda number: number % 10 != 0), st.integers(-60, 60))
def test_a_number_of_39_digits_is_refused_and_never_rounded(digits: int, exponent: int) -> None:
    with pytest.raises(BadInput):
        encode(Decimal(f"{digits}E{exponent}"))
    with pytest.raises(BadInput):
        encode(digits)


@pytest.mark.parametrize("number", ["NaN", "sNaN", "Infinity", "-Infinity", "1E+126", "-1E+126", "1E-131", "1E+9999"])
def test_a_number_out_of_dynamodbs_range_is_refused(number: str) -> None:
    with pytest.raises(BadInput):
        encode(Decimal(number))


@pytest.mark.parametrize("number", ["9.9999999999999999999999999999999999999E+125", "1E-130", "-1E-130", "0"])
def test_the_largest_and_the_smallest_number_are_stored(number: str) -> None:
    assert Decimal(encode(Decimal(number))["N"]) == Decimal(number)
