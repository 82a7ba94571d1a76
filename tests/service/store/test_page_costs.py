"""A page costs about one Query for each shard, and reads few more items than it returns."""

from dataclasses import replace
from datetime import timedelta

import pytest

from keyfence.store.shards import MoveDirection, ShardCounts, ShardMap
from tests.benchmarks.list_page_costs import items_by_shard, mean_page_cost
from tests.data.bookshop import OPENING, Book, book, books, newest_books
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards

FIRST = 20


def books_by_time(count: int) -> list[Book]:
    models = (book(f"b{number:04}") for number in range(count))
    return [replace(one, created_at=OPENING + timedelta(seconds=number)) for number, one in enumerate(models)]


@pytest.mark.parametrize("count", [0, 1, FIRST, FIRST + 1, 90])
async def test_with_one_shard_a_page_is_one_query_that_reads_one_item_more_than_it_returns(count: int) -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *books_by_time(count))
    after, pages = None, 0
    while True:
        page = await table(dynamodb).page(newest_books, first=FIRST, after=after)
        pages += 1
        assert [call.operation for call in dynamodb.calls] == ["Query"] * pages
        assert dynamodb.calls[-1].parameters["Limit"] == FIRST + 1
        if not page.has_next:
            return
        after = page.edges[-1].cursor()


async def test_with_eight_shards_a_first_page_reads_a_part_of_each() -> None:
    dynamodb, shards = InMemoryDynamoDB(), even_shards({"books": 8})
    dynamodb.store(books, *books_by_time(160), shards=shards)
    await table(dynamodb, shards=shards).page(newest_books, first=FIRST)
    limits = [call.parameters["Limit"] for call in dynamodb.calls]
    assert 8 <= len(limits) <= 10
    assert sum(limits) <= 2.4 * FIRST


async def test_while_items_move_every_shard_is_read_for_the_whole_page() -> None:
    dynamodb, shards = InMemoryDynamoDB(), even_shards({"books": 4})
    dynamodb.store(books, *books_by_time(160), shards=shards)
    moving = ShardCounts(read_shards=4, write_shards=2, move_direction=MoveDirection.DOWN)
    await table(dynamodb, shards=ShardMap({"books": moving})).page(newest_books, first=FIRST)
    assert [call.parameters["Limit"] for call in dynamodb.calls] == [FIRST + 1] * 4


@pytest.mark.parametrize(
    ("shard_count", "first", "queries", "items_read"),
    [(1, 20, 1.0, 1.05), (8, 20, 9.2, 2.3), (8, 100, 9.2, 1.5), (32, 100, 41, 2.5)],
)
async def test_over_all_pages_few_shards_are_read_twice_and_few_items_for_nothing(
    shard_count: int, first: int, queries: float, items_read: float
) -> None:
    cost = await mean_page_cost(items_by_shard(2000, shard_count), shard_count, first)
    assert shard_count <= cost.queries <= queries
    assert cost.rounds <= 2.1
    assert 1 < cost.items_read <= items_read


async def test_a_list_that_has_just_grown_costs_one_query_more_and_reads_no_item_for_nothing() -> None:
    cost = await mean_page_cost(items_by_shard(2000, 8, written_to_one_shard=2000), 8, FIRST)
    assert (cost.queries, cost.rounds) == (9, 2)
    assert cost.items_read < 1.1
