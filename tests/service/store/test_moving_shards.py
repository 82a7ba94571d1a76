"""A list stays complete while a job moves its items from shard to shard."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer
from keyfence.store.keys import KeyPair
from keyfence.store.shards import MAX_SHARDS, MoveDirection, ShardCounts, ShardMap, shard_of, shard_suffix
from keyfence.store.table import Table
from keyfence_iam.credentials import Credentials
from tests.data.bookshop import (
    OPENING,
    Book,
    Count,
    Visit,
    book,
    books,
    count_by_name,
    counts,
    newest_books,
    oldest_books,
)
from tests.data.bookshop import visits as visit_entity
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.fences import tenant_fence
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards
from tests.service.store.test_pages import read_all_pages, sorted_books
from tests.tier import examples

ACME = tenant_fence("acme")
IDS = [f"b{number:02d}" for number in range(40)]


@dataclass
class ItemMovingDynamoDB:
    """A DynamoDB that moves some items to their new shards before every read."""

    dynamodb: InMemoryDynamoDB
    count: int
    direction: MoveDirection
    moves_before_reads: list[int]
    partition: str = "GSI2PK"
    move_count: int = field(default=0)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        if operation in {"Query", "BatchGetItem"}:
            for _ in range(self.moves_before_reads.pop(0) if self.moves_before_reads else 0):
                self.move()
        return await self.dynamodb.call(operation, parameters, credentials)

    def close(self) -> None: ...

    def move(self) -> None:
        """Moves the first item that is not in its new shard."""
        for table_key, item in self.dynamodb.items.items():
            unsharded_partition, _, shard = item[self.partition]["S"].rpartition("#")
            expected = shard_of(item["id"]["S"], self.count)
            if expected != int(shard, 16) and (self.direction is MoveDirection.UP or int(shard, 16) >= self.count):
                self.move_count += 1
                self.put(table_key, item, {"S": f"{unsharded_partition}#{shard_suffix(expected)}"})
                return

    def put(self, table_key: KeyPair, item: Item, partition: dict[str, Any]) -> None:
        del self.dynamodb.items[table_key]
        changed = {**item, self.partition: partition}
        self.dynamodb.items[KeyPair(changed["PK"]["S"], changed["SK"]["S"])] = changed


def store_in_shards(
    dynamodb: InMemoryDynamoDB, entity: Any, models: list[Any], collection: str, shard_counts: list[int]
) -> None:
    """Stores each item in its shard for one of the earlier counts."""
    for number, model in enumerate(models):
        dynamodb.store(entity, model, shards=even_shards({collection: shard_counts[number % len(shard_counts)]}))


BOOKS = st.lists(st.builds(book, st.sampled_from(IDS), st.integers(0, 3)), unique_by=lambda one: one.id, max_size=30)
MOVES_BEFORE_READS = st.lists(st.integers(0, 4), max_size=60)
FORMER_COUNTS = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(sorted)


@examples(150)
@given(BOOKS, FORMER_COUNTS, st.integers(0, 6), MOVES_BEFORE_READS, st.integers(1, 7), st.booleans())
def test_no_item_is_missed_or_returned_twice_while_items_move_up(
    stored: list[Book],
    former_counts: list[int],
    added_shards: int,
    moves_before_reads: list[int],
    first: int,
    newest_first: bool,
) -> None:
    count = former_counts[-1] + added_shards
    dynamodb = InMemoryDynamoDB(page_items=3)
    store_in_shards(dynamodb, books, stored, "books", [*former_counts, count])
    moving = ShardCounts(
        read_shards=count, write_shards=count, former_write_shards=tuple(former_counts), move_direction=MoveDirection.UP
    )
    moving_dynamodb = ItemMovingDynamoDB(dynamodb, count, MoveDirection.UP, moves_before_reads)
    handle = table(moving_dynamodb, shards=ShardMap({"books": moving}))
    pattern = newest_books if newest_first else oldest_books
    assert asyncio.run(read_all_pages([handle], pattern, first)) == sorted_books(stored, newest_first=newest_first)


@examples(150)
@given(BOOKS, FORMER_COUNTS, st.integers(1, 6), MOVES_BEFORE_READS, st.integers(1, 7), st.booleans())
def test_no_item_is_missed_or_returned_twice_while_items_move_down(
    stored: list[Book],
    former_counts: list[int],
    removed_shards: int,
    moves_before_reads: list[int],
    first: int,
    newest_first: bool,
) -> None:
    largest_count, count = former_counts[-1] + removed_shards, former_counts[-1]
    dynamodb = InMemoryDynamoDB(page_items=3)
    store_in_shards(dynamodb, books, stored, "books", [*former_counts, largest_count, count])
    moving = ShardCounts(
        read_shards=largest_count,
        write_shards=count,
        former_write_shards=tuple(former_counts[:-1]),
        move_direction=MoveDirection.DOWN,
    )
    moving_dynamodb = ItemMovingDynamoDB(dynamodb, count, MoveDirection.DOWN, moves_before_reads)
    handle = table(moving_dynamodb, shards=ShardMap({"books": moving}))
    pattern = newest_books if newest_first else oldest_books
    assert asyncio.run(read_all_pages([handle], pattern, first)) == sorted_books(stored, newest_first=newest_first)


async def test_a_map_that_does_not_know_of_the_move_would_miss_items() -> None:
    """Shows that the tests above can fail. This is why a job waits until every server knows of the move."""
    stored = [book(id) for id in IDS]
    dynamodb = InMemoryDynamoDB()
    store_in_shards(dynamodb, books, stored, "books", [8])
    handle = table(
        ItemMovingDynamoDB(dynamodb, 1, MoveDirection.DOWN, [0] + [40] * 7), shards=even_shards({"books": 8})
    )
    page = await handle.page(oldest_books, first=len(stored))
    assert len(page.items) < len(stored)


def visit(number: int) -> Visit:
    return Visit(id=f"v{number:02d}", visitor="ann", created_at=OPENING, updated_at=OPENING)


async def test_an_item_with_the_shard_in_its_table_key_is_returned_once_while_it_moves() -> None:
    stored = [visit(number) for number in range(30)]
    dynamodb = InMemoryDynamoDB()
    store_in_shards(dynamodb, visit_entity, stored, "visits", [8])
    counts = ShardCounts(read_shards=8, write_shards=3, move_direction=MoveDirection.DOWN)
    moving_dynamodb = ItemMovingDynamoDB(dynamodb, 3, MoveDirection.DOWN, [2] * 20, partition="PK")
    handle = table(moving_dynamodb, shards=ShardMap({"visits": counts}))
    pattern = visit_entity.query("table")
    page = await handle.page(pattern, first=100, created_at=OPENING)
    assert list(page.items) == stored
    assert moving_dynamodb.move_count


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_moved_item_is_not_returned_again_after_its_own_cursor_in_an_index(newest_first: bool) -> None:
    stored = [visit(number) for number in range(12)]
    dynamodb = InMemoryDynamoDB()
    store_in_shards(dynamodb, visit_entity, stored, "visits", [8])
    handle = table(dynamodb)
    pattern = visit_entity.query("gsi1", newest_first=newest_first)
    found, after = list[Visit](), None
    while True:
        page = await handle.page(pattern, first=1, after=after, visitor="ann", created_at=OPENING)
        found += page.items
        if not page.has_next:
            break
        after = page.edges[-1].cursor()
        moving_dynamodb = ItemMovingDynamoDB(dynamodb, 1 if len(found) % 2 else 8, MoveDirection.UP, [], partition="PK")
        for _ in stored:
            moving_dynamodb.move()
    assert found == (stored[::-1] if newest_first else stored)


async def test_parts_of_a_number_are_read_as_they_were_at_one_moment_while_they_move() -> None:
    dynamodb = InMemoryDynamoDB()
    moving = ShardCounts(read_shards=4, write_shards=2, move_direction=MoveDirection.DOWN)
    for number in range(20):
        part = Count(name="door", part=f"p{number}", created_at=OPENING, updated_at=OPENING, total=1)
        dynamodb.store(counts, part, shards=even_shards({"counts": 4}))
    handle = table(dynamodb, shards=ShardMap({"counts": moving}))
    (found,) = await handle.find_in_all_shards(count_by_name, [{"name": "door"}])
    assert len(found) == 4
    (call,) = dynamodb.calls
    assert (call.operation, len(call.parameters["TransactItems"])) == ("TransactGetItems", 4)


@pytest.mark.parametrize("is_count_known", [True, False])
async def test_an_item_with_the_shard_in_its_table_key_is_found_in_the_shard_of_any_earlier_count(
    is_count_known: bool,
) -> None:
    ids = [f"v{number:02d}" for number in range(12)]
    dynamodb = InMemoryDynamoDB()
    stored = [visit(number) for number in range(12)]
    store_in_shards(dynamodb, visit_entity, stored, "visits", [1, 5, 16])
    counts = ShardCounts(read_shards=16 if is_count_known else 5)
    handle: Table = table(dynamodb, shards=ShardMap({"visits": counts}))
    found = [await handle.find(visit_entity.get(), id=id, created_at=OPENING) for id in ids]
    if is_count_known:
        assert found == stored
        key_counts = [len(call.parameters["RequestItems"]["keyfence"]["Keys"]) for call in dynamodb.calls]
        assert sum(key_counts) / len(key_counts) < 5, "few shards are read"
    else:
        assert found != stored


@given(st.text(), st.integers(1, MAX_SHARDS - 1))
def test_with_one_more_shard_an_item_stays_or_moves_into_the_new_one(value: str, count: int) -> None:
    assert shard_of(value, count + 1) in {shard_of(value, count), count}


@given(st.text(), FORMER_COUNTS, st.integers(0, 40))
def test_an_item_moves_up_only_into_a_later_read_stage(value: str, former_counts: list[int], added_shards: int) -> None:
    count = former_counts[-1] + added_shards
    stages = ShardCounts(
        read_shards=count, write_shards=count, former_write_shards=tuple(former_counts), move_direction=MoveDirection.UP
    ).read_stages()
    assert [shard for stage in stages for shard in stage] == list(range(count))
    for before in (*former_counts, count):
        old, new = shard_of(value, before), shard_of(value, count)
        stage_by_shard = {shard: number for number, stage in enumerate(stages) for shard in stage}
        assert old == new or stage_by_shard[old] < stage_by_shard[new]
