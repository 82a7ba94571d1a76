"""A list between two values has exactly the items between them, for any shards and cursors."""

import asyncio
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.entity import BadEntity
from keyfence.store.keys import ValueRange
from keyfence.store.table import Table
from tests.data.bookshop import OPENING, Book, book, books, books_of_days, chapter, chapters, numbered_chapters
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards
from tests.tier import examples

DAYS = st.none() | st.integers(0, 6)
BOOKS = st.lists(st.builds(book, st.sampled_from("abcdefghij"), st.integers(0, 6)), unique_by=lambda one: one.id)


def day(number: int | None) -> datetime | None:
    return None if number is None else OPENING + timedelta(days=number)


async def read_all_pages(handle: Table, value_range: ValueRange, first: int) -> list[Book]:
    page = await handle.page(books_of_days, first=first, between=value_range)
    found = [*page.items]
    while page.has_next:
        page = await handle.page(books_of_days, first=first, after=page.edges[-1].cursor(), between=value_range)
        found += page.items
    return found


@examples(150)
@given(BOOKS, DAYS, DAYS, st.integers(1, 4), st.integers(1, 3))
def test_a_range_is_the_part_of_the_list_between_its_ends(
    stored: list[Book], low: int | None, high: int | None, shard_count: int, first: int
) -> None:
    shards = even_shards({"books": shard_count})
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *stored, shards=shards)
    found = asyncio.run(read_all_pages(table(dynamodb, shards=shards), ValueRange(low=day(low), high=day(high)), first))
    expected = [one for one in stored if _is_between(one, day(low), day(high))]
    assert found == sorted(expected, key=lambda one: (one.created_at, one.id))


def _is_between(one: Book, low: datetime | None, high: datetime | None) -> bool:
    return (low is None or one.created_at >= low) and (high is None or one.created_at <= high)


@pytest.mark.parametrize(
    ("value_range", "numbers"),
    [
        (ValueRange(), [1, 2, 3, 4]),
        (ValueRange(low=2), [2, 3, 4]),
        (ValueRange(high=2), [1, 2]),
        (ValueRange(low=2, high=3), [2, 3]),
        (ValueRange(low=3, high=2), []),
    ],
)
async def test_a_range_does_not_leave_its_tag(value_range: ValueRange, numbers: list[int]) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"))
    dynamodb.store(chapters, *(chapter(number) for number in (1, 2, 3, 4)))
    page = await table(dynamodb).page(numbered_chapters, first=10, between=value_range, book_id="b1")
    assert [one.number for one in page.items] == numbers


async def test_a_cursor_of_one_range_is_refused_in_another() -> None:
    dynamodb, value_range = InMemoryDynamoDB(), ValueRange(low=1)
    dynamodb.store(chapters, *(chapter(number) for number in (1, 2, 3)))
    handle = table(dynamodb)
    page = await handle.page(numbered_chapters, first=1, between=value_range, book_id="b1")
    after = page.edges[0].cursor()
    assert (await handle.page(numbered_chapters, first=1, after=after, between=value_range, book_id="b1")).items[
        0
    ].number == 2
    for other in (None, ValueRange(low=2), ValueRange(low=1, high=3)):
        with pytest.raises(BadInput, match="does not belong to this list"):
            await handle.page(numbered_chapters, first=1, after=after, between=other, book_id="b1")


async def test_a_range_that_ends_before_it_begins_makes_no_call() -> None:
    dynamodb = InMemoryDynamoDB()
    page = await table(dynamodb).page(numbered_chapters, first=1, between=ValueRange(low=9, high=1), book_id="b1")
    assert (page.items, page.has_next, dynamodb.calls) == ((), False, [])


def test_only_the_field_after_the_tags_can_have_a_range() -> None:
    with pytest.raises(BadEntity, match="id does not follow"):
        books.query("gsi2", range_field="id")
