"""What a page costs: one Query in one slot, about one for each slot in many, and few more items than are shown."""

from dataclasses import replace
from datetime import timedelta

import pytest

from keyfence.store.shards import MoveDirection, ShardCounts, ShardMap
from tests.benchmarks.lists import kept, walked
from tests.data.bookshop import OPENING, Book, book, books, newest_books
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards

FIRST = 20


def shelf(count: int) -> list[Book]:
    made = (book(f"b{number:04}") for number in range(count))
    return [replace(one, created_at=OPENING + timedelta(seconds=number)) for number, one in enumerate(made)]


@pytest.mark.parametrize("count", [0, 1, FIRST, FIRST + 1, 90])
async def test_in_one_slot_a_page_is_one_query_that_reads_one_item_more_than_it_shows(count: int) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *shelf(count))
    after, pages = None, 0
    while True:
        page = await table(dynamodb).page(newest_books, first=FIRST, after=after)
        pages += 1
        assert [call.operation for call in dynamodb.calls] == ["Query"] * pages
        assert dynamodb.calls[-1].parameters["Limit"] == FIRST + 1
        if not page.has_next:
            return
        after = page.edges[-1].cursor()


async def test_in_eight_slots_a_first_page_asks_each_for_its_share() -> None:
    dynamodb, shards = InMemoryDynamoDB(), even_shards({"books": 8})
    dynamodb.store(books, *shelf(160), shards=shards)
    await table(dynamodb, shards=shards).page(newest_books, first=FIRST)
    asked = [call.parameters["Limit"] for call in dynamodb.calls]
    assert 8 <= len(asked) <= 10
    assert sum(asked) <= 2.4 * FIRST


async def test_where_items_move_every_slot_is_asked_for_all_that_the_page_could_need() -> None:
    dynamodb, shards = InMemoryDynamoDB(), even_shards({"books": 4})
    dynamodb.store(books, *shelf(160), shards=shards)
    moving = ShardCounts(read_shards=4, write_shards=2, move_direction=MoveDirection.DOWN)
    await table(dynamodb, shards=ShardMap({"books": moving})).page(newest_books, first=FIRST)
    assert [call.parameters["Limit"] for call in dynamodb.calls] == [FIRST + 1] * 4


@pytest.mark.parametrize(
    ("slots", "first", "queries", "read"),
    [(1, 20, 1.0, 1.05), (8, 20, 9.2, 2.3), (8, 100, 9.2, 1.5), (32, 100, 41, 2.5)],
)
async def test_over_a_whole_walk_few_slots_are_asked_twice_and_little_is_read_in_vain(
    slots: int, first: int, queries: float, read: float
) -> None:
    cost = await walked(kept(2000, slots), slots, first)
    assert slots <= cost.queries <= queries
    assert cost.rounds <= 2.1
    assert 1 < cost.read <= read


async def test_a_list_that_has_just_grown_costs_one_query_more_and_reads_nothing_in_vain() -> None:
    cost = await walked(kept(2000, 8, before=2000), 8, FIRST)
    assert (cost.queries, cost.rounds) == (9, 2)
    assert cost.read < 1.1
