"""Batches of any size are split to DynamoDB's limits, and unprocessed requests are sent again."""

from typing import Any

import pytest

from keyfence.errors import Forbidden, Throttled
from keyfence.store.codec import Item
from keyfence.store.dynamodb.error_codes import DynamoDbError
from tests.data.bookshop import book, book_by_id, books, chapter, chapter_by_number, chapters
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import RETRY_POLICY, TABLE_NAME, ScriptedDynamoDB, table

KEYS = [{"id": f"b{number}"} for number in range(250)]


def stored_item(id: str) -> Item:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book(id))
    return next(iter(dynamodb.items.values()))


def table_key(id: str) -> Item:
    return {name: stored_item(id)[name] for name in ("PK", "SK")}


def sent_requests(client: ScriptedDynamoDB | InMemoryDynamoDB) -> list[Any]:
    return [call.parameters["RequestItems"][TABLE_NAME] for call in client.calls]


async def test_250_gets_are_three_calls_of_at_most_100() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, *(book(f"b{number}") for number in range(0, 250, 2)))
    models = await table(dynamodb).find_many(book_by_id, KEYS)
    assert [one and one.id for one in models] == [f"b{n}" if n % 2 == 0 else None for n in range(250)]
    assert sorted(len(request["Keys"]) for request in sent_requests(dynamodb)) == [50, 100, 100]


@pytest.mark.parametrize(("count", "calls"), [(0, 0), (1, 1), (100, 1), (101, 2)])
async def test_batches_are_as_large_as_the_limit_allows(count: int, calls: int) -> None:
    dynamodb = InMemoryDynamoDB()
    assert await table(dynamodb).find_many(book_by_id, KEYS[:count]) == [None] * count
    assert len(dynamodb.calls) == calls


async def test_a_key_that_is_given_twice_is_read_once_and_returned_twice() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"), book("b2"))
    models = await table(dynamodb).find_many(book_by_id, [{"id": id} for id in ("b2", "b1", "b2", "b9", "b2")])
    assert [one and one.id for one in models] == ["b2", "b1", "b2", None, "b2"]
    assert len(sent_requests(dynamodb)[0]["Keys"]) == 3


@pytest.mark.parametrize("consistent", [True, False])
async def test_a_consistent_table_makes_consistent_batches(consistent: bool) -> None:
    dynamodb = InMemoryDynamoDB()
    await table(dynamodb, consistent=consistent).find_many(book_by_id, KEYS[:1])
    assert sent_requests(dynamodb)[0]["ConsistentRead"] is consistent


async def test_unprocessed_keys_are_requested_again() -> None:
    unprocessed = {"Keys": [table_key("b2")], "ConsistentRead": False}
    client = ScriptedDynamoDB(
        [
            {"Responses": {TABLE_NAME: [stored_item("b1")]}, "UnprocessedKeys": {TABLE_NAME: unprocessed}},
            {"Responses": {TABLE_NAME: []}, "UnprocessedKeys": {TABLE_NAME: unprocessed}},
            {"Responses": {TABLE_NAME: [stored_item("b2")]}, "UnprocessedKeys": {}},
        ]
    )
    models = await table(client).find_many(book_by_id, [{"id": "b1"}, {"id": "b2"}])
    assert [one and one.id for one in models] == ["b1", "b2"]
    assert sent_requests(client)[1] == sent_requests(client)[2] == unprocessed


async def test_unprocessed_deletes_are_requested_again() -> None:
    unprocessed = [{"DeleteRequest": {"Key": table_key("b2")}}]
    client = ScriptedDynamoDB([{"UnprocessedItems": {TABLE_NAME: unprocessed}}, {}])
    await table(client).delete_many(book_by_id, [{"id": "b1"}, {"id": "b2"}])
    assert sent_requests(client) == [[{"DeleteRequest": {"Key": table_key("b1")}}, *unprocessed], unprocessed]


async def test_requests_that_stay_unprocessed_are_a_throttle_and_not_a_short_answer() -> None:
    unprocessed = {TABLE_NAME: {"Keys": [table_key("b1")], "ConsistentRead": False}}
    client = ScriptedDynamoDB([{"Responses": {TABLE_NAME: []}, "UnprocessedKeys": unprocessed}] * 10)
    with pytest.raises(Throttled):
        await table(client).find_many(book_by_id, [{"id": "b1"}])
    assert len(client.calls) == RETRY_POLICY.attempts


async def test_there_is_no_pause_after_the_last_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("keyfence.store.dynamodb.batches.asyncio.sleep", sleep)
    unprocessed = {TABLE_NAME: [{"DeleteRequest": {"Key": table_key("b1")}}]}
    with pytest.raises(Throttled):
        await table(ScriptedDynamoDB([{"UnprocessedItems": unprocessed}] * 10)).delete_many(book_by_id, [{"id": "b1"}])
    assert len(pauses) == RETRY_POLICY.attempts - 1


async def test_an_error_of_one_batch_call_fails_the_whole_read() -> None:
    client = ScriptedDynamoDB(
        [{"Responses": {TABLE_NAME: []}}, DynamoDbError("AccessDeniedException", ""), {"Responses": {TABLE_NAME: []}}]
    )
    with pytest.raises(Forbidden):
        await table(client).find_many(book_by_id, KEYS)


async def test_60_deletes_are_three_calls_of_at_most_25() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(chapters, *(chapter(number) for number in range(61)))
    await table(dynamodb).delete_many(chapter_by_number, [{"book_id": "b1", "number": n} for n in range(60)])
    assert [len(request) for request in sent_requests(dynamodb)] == [25, 25, 10]
    assert [pair.sort for pair in dynamodb.items] == ["CHAPTER#060"]


async def test_a_key_that_is_deleted_twice_is_sent_once() -> None:
    """DynamoDB rejects a batch that has a key twice."""
    dynamodb = InMemoryDynamoDB()
    await table(dynamodb).delete_many(book_by_id, [{"id": "b1"}, {"id": "b2"}, {"id": "b1"}])
    assert sent_requests(dynamodb) == [[{"DeleteRequest": {"Key": table_key(id)}} for id in ("b1", "b2")]]
