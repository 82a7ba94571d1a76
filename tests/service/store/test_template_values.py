"""Numbers and times have a fixed width in keys, so that keys sort like the values."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyTemplate
from keyfence.store.timestamps import timestamp_text
from tests.data.model_strategies import TIMES, ZONES


def render_key(template: str, **values: object) -> str:
    return KeyTemplate.parse(template).render(values)


@pytest.mark.parametrize("number", [7, Decimal(7)])
def test_a_number_without_a_width_is_refused(number: int | Decimal) -> None:
    with pytest.raises(TypeError, match="width"):
        render_key("ITEM#{number}", number=number)


@given(st.integers(0, 99_999), st.integers(0, 99_999))
def test_whole_numbers_keep_their_order_and_their_width(one: int, other: int) -> None:
    keys = [render_key("{number:05d}", number=number) for number in (one, other)]
    assert [len(key) for key in keys] == [5, 5]
    assert (keys[0] < keys[1]) == (one < other)
    assert (keys[0] == keys[1]) == (one == other)


@given(st.integers(0, 10**40 - 1), st.integers(0, 10**40 - 1))
@example(10**40 - 1, 10**40 - 2)
def test_the_widest_numbers_keep_every_digit(one: int, other: int) -> None:
    keys = [render_key("{number:040d}", number=number) for number in (one, other)]
    assert [int(key) for key in keys] == [one, other]
    assert (keys[0] < keys[1]) == (one < other)


@given(st.decimals(0, 9_999_999, places=2), st.decimals(0, 9_999_999, places=2))
def test_prices_keep_their_order_and_their_width(one: Decimal, other: Decimal) -> None:
    keys = [render_key("{price:010.2f}", price=price) for price in (one, other)]
    assert [len(key) for key in keys] == [10, 10]
    assert (keys[0] < keys[1]) == (one < other)


@pytest.mark.parametrize("number", [-1, 100_000, 10**40])
def test_a_number_outside_its_width_is_refused(number: int) -> None:
    with pytest.raises(BadInput) as raised:
        render_key("v{revision:05d}", revision=number)
    assert raised.value.extensions == {"field": "revision"}


@pytest.mark.parametrize("number", ["-0.01", "10000000", "149.991", "0.001", "NaN", "sNaN", "Infinity", "-Infinity"])
def test_a_price_that_does_not_fit_its_width_is_refused(number: str) -> None:
    with pytest.raises(BadInput):
        render_key("PRICE#{price:010.2f}", price=Decimal(number))


def test_equal_numbers_make_one_key_however_they_are_written() -> None:
    spellings = [Decimal(5), Decimal("5.00"), Decimal("0.5E1"), 5]
    assert {render_key("{price:010.2f}", price=number) for number in spellings} == {"0000005.00"}
    assert render_key("{price:010.2f}", price=Decimal("-0")) == "0000000.00"
    assert render_key("{number:03d}", number=Decimal(5)) == "005"


@given(TIMES, TIMES)
def test_times_keep_their_order_and_their_width(one: datetime, other: datetime) -> None:
    keys = [render_key("{at}", at=at) for at in (one, other)]
    assert [len(key) for key in keys] == [27, 27]
    assert (keys[0] < keys[1]) == (one < other)
    assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize("year", [1, 33, 999, 1000, 9999])
def test_every_year_is_four_digits_wide(year: int) -> None:
    assert timestamp_text(datetime(year, 2, 3, 4, 5, 6, 7, UTC)) == f"{year:04d}-02-03T04:05:06.000007Z"


@given(TIMES, ZONES)
def test_one_instant_makes_one_key_in_every_zone(at: datetime, zone: timezone) -> None:
    assert render_key("{at}", at=at.astimezone(zone)) == render_key("{at}", at=at)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(TypeError, match="zone"):
        render_key("{at}", at=datetime(2026, 11, 16))


@pytest.mark.parametrize("at", [datetime.min, datetime.max])
def test_a_time_outside_the_years_of_utc_is_refused(at: datetime) -> None:
    zone = timezone(timedelta(hours=1 if at == datetime.min else -1))
    with pytest.raises(BadInput):
        render_key("{at}", at=at.replace(tzinfo=zone))


@given(st.dates(), st.dates())
def test_dates_keep_their_order(one: date, other: date) -> None:
    keys = [render_key("DATE#{day}", day=day) for day in (one, other)]
    assert (keys[0] < keys[1]) == (one < other)


def test_a_bucket_is_the_month_or_the_day_in_utc() -> None:
    last_hour_of_month = datetime(2026, 11, 30, 23, 30, tzinfo=timezone(timedelta(hours=-1)))
    assert render_key("USERS#{at:month}", at=last_hour_of_month) == "USERS#2026-12"
    assert render_key("ACTIVITY#{at:day}", at=last_hour_of_month) == "ACTIVITY#2026-12-01"
    assert render_key("ACTIVITY#{at:month}", at=date(2026, 11, 30)) == "ACTIVITY#2026-11"


@given(TIMES, TIMES)
def test_two_times_share_a_bucket_only_in_the_same_month(one: datetime, other: datetime) -> None:
    keys = [render_key("{at:month}", at=at) for at in (one, other)]
    months = [(at.astimezone(UTC).year, at.astimezone(UTC).month) for at in (one, other)]
    assert (keys[0] == keys[1]) == (months[0] == months[1])
