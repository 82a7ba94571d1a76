"""A list over any number of shards is read as one list, complete and in order, from any cursor."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput, Forbidden, Throttled
from keyfence.store.codec import Item
from keyfence.store.entity import Query
from keyfence.store.keys import KeyPair
from keyfence.store.pagination import MAX_PAGE_SIZE
from keyfence.store.table import Table
from tests.data.bookshop import (
    Book,
    book,
    books,
    books_of_shelf,
    chapter,
    chapters,
    chapters_of_book,
    newest_books,
    oldest_books,
)
from tests.data.model_strategies import TEXT
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.fences import tenant_fence
from tests.fakes.scripted_dynamodb import RETRY_POLICY, table
from tests.fakes.shard_maps import even_shards
from tests.tier import examples

IDS = [f"b{number:02d}" for number in range(30)]
BOOKS = st.lists(st.builds(book, st.sampled_from(IDS), st.integers(0, 3)), unique_by=lambda one: one.id, max_size=25)


async def read_all_pages(tables: Sequence[Table], pattern: Query[Book], first: int, **values: object) -> list[Book]:
    """Reads the whole list. Each page is read with the next of these tables, and the rest with the last table."""
    found: list[Book] = []
    after, number = None, 0
    while True:
        page = await tables[min(number, len(tables) - 1)].page(
            pattern, first=first, after=after, between=None, **values
        )
        assert page.has_previous == (after is not None)
        assert len(page.items) == first or not page.has_next, "only the last page may be short"
        found += page.items
        if not page.has_next:
            return found
        after, number = page.edges[-1].cursor(), number + 1


def sorted_books(stored: Sequence[Book], *, newest_first: bool) -> list[Book]:
    return sorted(stored, key=lambda one: (one.created_at, one.id), reverse=newest_first)


@examples(120)
@given(BOOKS, st.integers(1, 6), st.integers(1, 8), st.integers(1, 5), st.booleans())
def test_pages_over_any_number_of_shards_are_the_sorted_list(
    stored: list[Book], shard_count: int, first: int, query_page_items: int, newest_first: bool
) -> None:
    dynamodb, shards = InMemoryDynamoDB(page_items=query_page_items), even_shards({"books": shard_count})
    dynamodb.store(books, *stored, shards=shards)
    dynamodb.store(books, book("b00", 1), tenant="acmecorp", shards=shards)
    pattern = newest_books if newest_first else oldest_books
    found = asyncio.run(read_all_pages([table(dynamodb, shards=shards)], pattern, first))
    assert found == sorted_books(stored, newest_first=newest_first)


@examples(60)
@given(BOOKS, st.integers(1, 4), st.integers(0, 4), st.integers(1, 6), st.booleans())
def test_a_cursor_is_valid_after_shards_were_added(
    stored: list[Book], shard_count: int, added_shards: int, first: int, newest_first: bool
) -> None:
    """Items stay in their old shards, and reads cover new shards before writes use them."""
    dynamodb, fewer_shards, more_shards = (
        InMemoryDynamoDB(),
        even_shards({"books": shard_count}),
        even_shards({"books": shard_count + added_shards}),
    )
    dynamodb.store(books, *stored, shards=fewer_shards)
    pattern = newest_books if newest_first else oldest_books
    found = asyncio.run(
        read_all_pages([table(dynamodb, shards=one) for one in (fewer_shards, more_shards)], pattern, first)
    )
    assert found == sorted_books(stored, newest_first=newest_first)


@examples(60)
@given(st.lists(st.tuples(TEXT, st.sampled_from(IDS)), unique_by=lambda pair: pair[1], max_size=10), TEXT)
def test_pages_continue_after_any_text(titles: list[tuple[str, str]], shelf: str) -> None:
    stored = [book(id, title=title, shelf=shelf) for title, id in titles]
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *stored)
    found = asyncio.run(read_all_pages([table(dynamodb)], books_of_shelf, 1, shelf=shelf))
    assert sorted(found, key=lambda one: one.id) == sorted(stored, key=lambda one: one.id)


@pytest.mark.parametrize(("stored", "first", "has_next"), [(0, 1, False), (3, 2, True), (3, 3, False), (3, 4, False)])
async def test_has_next_is_true_only_if_there_is_a_next_item(stored: int, first: int, has_next: bool) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(chapters, *(chapter(number) for number in range(stored)))
    page = await table(dynamodb).page(chapters_of_book, first=first, book_id="b1")
    assert page.has_next is has_next
    assert [one.number for one in page.items] == list(range(min(stored, first)))
    assert len(dynamodb.calls) == 1


async def test_a_query_is_repeated_until_the_page_is_full_and_no_longer() -> None:
    dynamodb = InMemoryDynamoDB(page_items=2)
    dynamodb.store(chapters, *(chapter(number) for number in range(20)))
    page = await table(dynamodb).page(chapters_of_book, first=6, book_id="b1")
    assert [one.number for one in page.items] == [0, 1, 2, 3, 4, 5]
    assert [call.parameters["Limit"] for call in dynamodb.calls] == [7, 5, 3, 1]


async def test_only_items_with_the_prefix_of_the_pattern_are_read() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"))
    dynamodb.store(chapters, chapter(1))
    page = await table(dynamodb).page(chapters_of_book, first=10, book_id="b1")
    assert page.items == (chapter(1),)


def foreign_item(foreign_tenant: str, id: str, day: int = 0) -> Item:
    """Returns an item of another tenant with this tenant's prefix in its index keys."""
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book(id, day), tenant="acme")
    ((_, item),) = dynamodb.items.items()
    return {**item, "PK": {"S": f"TENANT#{foreign_tenant}#BOOK#{id}"}}


@pytest.mark.parametrize("foreign_tenant", ["globex", "acmecorp", "acm"])
async def test_an_item_of_another_tenant_in_an_index_is_dropped_and_reported(foreign_tenant: str) -> None:
    dynamodb, reports = InMemoryDynamoDB(), []
    dynamodb.store(books, *(book(f"b{number}", number) for number in range(5)))
    for id, day in (("x1", 0), ("x2", 1), ("x3", 9)):
        item = foreign_item(foreign_tenant, id, day)
        dynamodb.items[KeyPair(item["PK"]["S"], item["SK"]["S"])] = item
    handle = table(dynamodb, on_foreign_items=lambda _, items: reports.extend(items))
    page = await handle.page(oldest_books, first=5)
    assert [one.id for one in page.items] == ["b0", "b1", "b2", "b3", "b4"]
    assert page.has_next is False
    assert len(reports) == 3
    assert [one.id async for one in handle.iterate_shards(oldest_books)] == ["b0", "b1", "b2", "b3", "b4"]
    assert len(reports) == 6
    first = await handle.find_first(oldest_books)
    assert first is not None
    assert first.id == "b0"


async def test_the_first_item_of_an_empty_list_is_none() -> None:
    assert await table(InMemoryDynamoDB()).find_first(oldest_books) is None


@pytest.mark.parametrize(
    ("code", "error", "calls"),
    [
        ("AccessDeniedException", Forbidden, 1),
        ("ProvisionedThroughputExceededException", Throttled, RETRY_POLICY.attempts),
    ],
)
async def test_an_error_in_one_shard_fails_the_page(code: str, error: type[Exception], calls: int) -> None:
    failing_partition = f"{tenant_fence('acme').index_prefix}BOOKS#02"
    dynamodb, shards = InMemoryDynamoDB(failing_partitions={failing_partition: code}), even_shards({"books": 4})
    dynamodb.store(books, *(book(id) for id in IDS), shards=shards)
    with pytest.raises(error):
        await table(dynamodb, shards=shards).page(oldest_books, first=3)
    read_partitions = [call.parameters["ExpressionAttributeValues"][":p"]["S"] for call in dynamodb.calls]
    assert read_partitions.count(failing_partition) == calls


@pytest.mark.parametrize("first", [0, -1, MAX_PAGE_SIZE + 1])
async def test_a_page_size_out_of_range_is_refused_before_any_call(first: int) -> None:
    dynamodb = InMemoryDynamoDB()
    with pytest.raises(BadInput) as raised:
        await table(dynamodb).page(oldest_books, first=first)
    assert raised.value.extensions == {"field": "first"}
    assert dynamodb.calls == []
