"""Bytes cost units by the begun kilobyte, and by the begun four."""

import pytest

from keyfence_iam.dynamodb.capacity import read_units, write_units


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (409_600, 400)])
def test_writing(size: int, units: float) -> None:
    assert write_units(size) == units


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (8192, 2), (8193, 3)])
def test_reading_costs_half_where_it_may_be_out_of_date(size: int, units: float) -> None:
    assert read_units(size, consistent=True) == units
    assert read_units(size, consistent=False) == units / 2
