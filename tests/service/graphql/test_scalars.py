"""Decimals, dates and times are returned exactly. Any other value is bad input."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
import strawberry
from hypothesis import given
from hypothesis import strategies as st
from strawberry.schema.config import StrawberryConfig

from keyfence.graphql.scalars import SCALARS

NUMBERS = st.decimals(min_value=Decimal("-1e20") + 1, max_value=Decimal("1e20") - 1, places=18) | st.integers(
    -(10**20) + 1, 10**20 - 1
).map(Decimal)


@strawberry.type
class Echo:
    """Returns its argument."""

    @strawberry.field
    def number(self, value: Decimal) -> Decimal:
        return value

    @strawberry.field
    def day(self, value: date) -> date:
        return value

    @strawberry.field
    def minutes_ahead_of_utc(self, value: datetime) -> int:
        ahead = value.utcoffset()
        assert ahead is not None
        return int(ahead.total_seconds() / 60)

    @strawberry.field
    def moment(self, value: datetime) -> datetime:
        return value


schema = strawberry.Schema(Echo, config=StrawberryConfig(scalar_map=SCALARS))


def echo(field: str, kind: str, value: object) -> Any:
    result = schema.execute_sync(f"query($value: {kind}!) {{ {field}(value: $value) }}", {"value": value})
    return result.data[field] if result.data else None


@given(NUMBERS)
def test_a_decimal_comes_back_exactly(number: Decimal) -> None:
    returned = echo("number", "Decimal", format(number, "f"))
    assert isinstance(returned, str)
    assert Decimal(returned) == number


@pytest.mark.parametrize(
    ("value", "returned"),
    [
        ("149.90", "149.90"),
        ("149.9", "149.90"),
        ("10.00", "10.00"),
        ("100", "100.00"),
        ("1.2500", "1.25"),
        ("0.1250", "0.125"),
        (7, "7.00"),
        ("-0.00", "0.00"),
        ("-1.5", "-1.50"),
        ("007", "7.00"),
        (10**19, "1" + "0" * 19 + ".00"),
    ],
)
def test_equal_numbers_are_equal_texts(value: object, returned: str) -> None:
    assert echo("number", "Decimal", value) == returned


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "Infinity",
        "1e3",
        "1_000",
        " 1",
        "1\n",
        "",
        ".5",
        "5.",
        "٣",
        "1" * 21,
        "0." + "1" * 19,
        0.1,
        1.0,
        True,
        [],
        {},
    ],
    ids=repr,
)
def test_anything_but_an_exact_decimal_is_bad_input(value: object) -> None:
    assert echo("number", "Decimal", value) is None


def test_a_fraction_written_into_the_document_must_be_a_string_too() -> None:
    assert schema.execute_sync("{ number(value: 12.5) }").errors
    assert schema.execute_sync('{ number(value: "12.5") }').data == {"number": "12.50"}


@given(st.dates())
def test_a_date_comes_back(day: date) -> None:
    assert echo("day", "Date", day.isoformat()) == day.isoformat()


@pytest.mark.parametrize(
    "value",
    ["20261116", "2026-W47-1", "2026-11-31", "2026-11-16T00:00:00Z", "16.11.2026", "", 20261116, None],
    ids=repr,
)
def test_anything_but_an_iso_date_is_bad_input(value: object) -> None:
    assert echo("day", "Date", value) is None


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-14 * 60, 14 * 60))
def test_a_time_of_any_zone_is_the_same_moment_in_utc(local: datetime, minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert echo("minutesAheadOfUtc", "DateTime", moment.isoformat()) == 0
    assert datetime.fromisoformat(echo("moment", "DateTime", moment.isoformat())) == moment.astimezone(UTC)


@pytest.mark.parametrize(
    "value",
    ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-14:00", "2026-11-16T08:30:00", "2026-11-31T08:30:00Z", "", 0],
    ids=repr,
)
def test_a_time_without_zone_is_bad_input(value: object) -> None:
    assert echo("minutesAheadOfUtc", "DateTime", value) is None
