"""The first increment creates a number, and the parts in all shards add up to the sum of the increments."""

import pytest

from keyfence.store.writes import increment
from tests.data.bookshop import OPENING, Count, book, books, count_by_name, counts
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards


def part(name: str, number: int) -> Count:
    return Count(name=name, part=f"p{number}", created_at=OPENING, updated_at=OPENING)


async def test_a_number_is_the_sum_of_its_parts_in_all_shards() -> None:
    dynamodb, shards = InMemoryDynamoDB(), even_shards({"counts": 4})
    handle = table(dynamodb, shards=shards)
    for number in range(40):
        await handle.write(increment(counts, part("door", number), "total", 2))
    await handle.write(increment(counts, part("gate", 0), "total", 5))
    door, gate, roof = await handle.find_in_all_shards(
        count_by_name, [{"name": name} for name in ("door", "gate", "roof")]
    )
    assert (sum(one.total for one in door), sum(one.total for one in gate), roof) == (80, 5, [])
    assert len(door) == 4
    assert sum(one.version for one in door) == 40
    assert [call.operation for call in dynamodb.calls].count("BatchGetItem") == 1


def test_an_entity_in_an_index_cannot_be_incremented() -> None:
    with pytest.raises(TypeError, match="is in an index"):
        increment(books, book("b1"), "version", 1)
