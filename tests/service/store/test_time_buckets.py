"""The time buckets of a list are read as one list, newest first and complete, from any cursor."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.entity import Query
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.time_buckets import page_over_time_buckets
from tests.data.bookshop import OPENING, Visit, book, books, latest_visits, noted_books, visits, visits_of
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards
from tests.tier import examples

ANY_TIME = ValueRange()
OLDEST, NEWEST = OPENING, OPENING + timedelta(days=70)
DECEMBER = 29 * 24 + 15
HOURS = st.integers(-40 * 24, 69 * 24) | st.integers(-12, 12) | st.integers(DECEMBER - 30, DECEMBER + 30)
VISITS = st.lists(HOURS, unique=True, max_size=20)
ZONES = st.integers(-14 * 4, 14 * 4).map(lambda quarters: timezone(timedelta(minutes=15 * quarters)))
TIMES = st.builds(lambda hour, zone: (OPENING + timedelta(hours=hour)).astimezone(zone), HOURS, ZONES)


def visit(hour: int) -> Visit:
    created_at = OPENING + timedelta(hours=hour)
    return Visit(id=f"v{hour:+05d}", visitor="ann", created_at=created_at, updated_at=created_at)


async def page_of_visits(
    handle: Table,
    pattern: Query[Visit],
    first: int,
    after: str | None = None,
    value_range: ValueRange = ANY_TIME,
    **values: object,
) -> Page[Visit]:
    return await page_over_time_buckets(
        handle, pattern, between=value_range, first=first, after=after, oldest=OLDEST, newest=NEWEST, **values
    )


async def all_pages(
    handle: Table, pattern: Query[Visit], first: int, value_range: ValueRange, **values: object
) -> list[Visit]:
    page = await page_of_visits(handle, pattern, first, None, value_range, **values)
    found = [*page.items]
    while page.has_next:
        assert len(page.items) == first
        page = await page_of_visits(handle, pattern, first, page.edges[-1].cursor(), value_range, **values)
        assert page.has_previous
        found += page.items
    return found


@examples(60)
@given(VISITS, st.none() | TIMES, st.none() | TIMES, st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_a_list_over_buckets_has_the_items_of_its_range_newest_first(
    hours: Sequence[int], low: datetime | None, high: datetime | None, first: int, shard_count: int, by_visitor: bool
) -> None:
    dynamodb, shards = InMemoryDynamoDB(page_items=3), even_shards({"visits": shard_count})
    stored = [visit(hour) for hour in hours]
    dynamodb.store(visits, *stored, shards=shards)
    handle, value_range = table(dynamodb, shards=shards), ValueRange(low=low, high=high)
    if by_visitor:
        found = asyncio.run(all_pages(handle, visits_of, first, value_range, visitor="ann"))
    else:
        found = asyncio.run(all_pages(handle, latest_visits, first, value_range))
    expected = [one for one in stored if max(low or OLDEST, OLDEST) <= one.created_at <= (high or NEWEST)]
    assert found == sorted(expected, key=lambda one: one.created_at, reverse=True)


async def test_a_busy_day_costs_one_query_and_empty_days_are_read_together() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(visits, *(visit(70 * 24 + hour) for hour in range(-3, 1)))
    page = await page_of_visits(table(dynamodb), latest_visits, 3)
    assert (len(page.items), len(dynamodb.calls)) == (3, 1)
    await page_of_visits(table(dynamodb), latest_visits, 3, page.edges[-1].cursor())
    assert len(dynamodb.calls) - 1 == 71


async def test_earlier_days_are_not_read_again() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(visits, visit(30 * 24), visit(1))
    page = await page_of_visits(table(dynamodb), latest_visits, 1)
    dynamodb.calls.clear()
    await page_of_visits(table(dynamodb), latest_visits, 1, page.edges[0].cursor())
    assert dynamodb.calls[0].parameters["ExpressionAttributeValues"][":p"]["S"] == "TENANT#acme#VISITS#2026-12-01#00"


async def test_a_cursor_is_bound_to_its_range_and_its_arguments() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(visits, visit(1), visit(2))
    page = await page_of_visits(table(dynamodb), visits_of, 1, visitor="ann")
    after = page.edges[0].cursor()
    for value_range, visitor in ((ValueRange(low=OPENING), "ann"), (ANY_TIME, "bob")):
        with pytest.raises(BadInput, match="does not belong to this list"):
            await page_of_visits(table(dynamodb), visits_of, 1, after, value_range, visitor=visitor)


@pytest.mark.parametrize("pattern", [latest_visits, visits_of], ids=["days", "months"])
async def test_a_cursor_at_an_item_that_is_too_old_by_now_ends_the_list(pattern: Query[Visit]) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(visits, visit(1), visit(2), visit(3))
    page = await page_of_visits(table(dynamodb), pattern, 2, visitor="ann")
    after, later = page.edges[-1].cursor(), OPENING + timedelta(hours=2, minutes=30)
    rest = await page_over_time_buckets(
        table(dynamodb), pattern, between=ANY_TIME, first=2, after=after, oldest=later, newest=NEWEST, visitor="ann"
    )
    assert (rest.items, rest.has_next, rest.has_previous) == ((), False, True)


async def test_a_list_that_has_no_bounds_is_read_from_its_oldest_bucket() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1", note="a"), book("b2", day=40, note="z"))
    found = await page_over_time_buckets(
        table(dynamodb),
        noted_books,
        between=ANY_TIME,
        first=9,
        oldest=OPENING + timedelta(hours=1),
        newest=NEWEST,
    )
    assert [one.id for one in found.items] == ["b2", "b1"]


@pytest.mark.parametrize("time", [datetime.min, datetime.max], ids=["first", "last"])
async def test_a_bound_outside_the_years_of_utc_is_refused(time: datetime) -> None:
    zone = timezone(timedelta(hours=14 if time == datetime.min else -14))
    with pytest.raises(BadInput, match="years 1 to 9999"):
        await page_of_visits(
            table(InMemoryDynamoDB()), latest_visits, 1, value_range=ValueRange(low=time.replace(tzinfo=zone))
        )
