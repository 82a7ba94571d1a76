"""Reads of a moving tenant are made on both tables, answered by the first, and reported if they differ permanently."""

from dataclasses import replace
from typing import Any

import pytest

from keyfence.store.dual_write.read_comparison import comparable_answer, parameters_for_table
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.table import Table
from keyfence.store.writes import put
from tests.data.bookshop import book, book_by_id, books, chapter, chapter_by_number, chapters, oldest_books
from tests.fakes.scripted_dynamodb import NAME
from tests.fakes.two_table_dynamodb import DUAL, SHADOW, SILO, TwoTableDynamoDB, handle


class Told(list[tuple[str, str]]):
    """Collects the reported differences."""

    def __call__(self, tenant: str, operation: str) -> None:
        self.append((tenant, operation))


async def shadowed(dynamodb: TwoTableDynamoDB, told: Told, *, writes: bool = False) -> Table:
    await handle(dynamodb, DUAL).write(
        *(put(books, book(f"b{at}", day=at)) for at in range(3)), put(chapters, chapter(1))
    )
    dynamodb.calls.clear()
    table = handle(dynamodb, SHADOW, told, writes=writes)
    return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=1, first_pause_seconds=0.0)))


async def read(table: Table, way: str) -> object:
    match way:
        case "GetItem":
            return await table.find(book_by_id, id="b1")
        case "Query":
            return (await table.page(oldest_books, first=2)).items
    return await table.find_many(chapter_by_number, [{"book_id": f"b{at}", "number": 1} for at in (2, 1)])


every_way = pytest.mark.parametrize("way", ["GetItem", "Query", "BatchGetItem"])


@every_way
async def test_equal_answers_take_one_read_of_each_table(way: str) -> None:
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)
    assert await read(table, way) == await read(handle(dynamodb, DUAL), way)
    assert sorted(_table(call.parameters) for call in dynamodb.calls[:2]) == [NAME, SILO]
    assert [call.operation for call in dynamodb.calls] == [way] * 3
    assert told == []


@every_way
async def test_a_permanent_difference_is_reported_once_and_the_answer_is_from_the_first_table(way: str) -> None:
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)
    expected = await read(handle(dynamodb, DUAL), way)
    for key, item in dynamodb.tables[SILO].items():
        dynamodb.tables[SILO][key] = {**item, "version": {"N": "7"}}
    assert await read(table, way) == expected
    assert told == [("acme", way)]


async def test_an_item_that_is_missing_in_the_other_table_is_a_difference_and_one_that_is_missing_in_both_is_none() -> (
    None
):
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)
    await table.find(book_by_id, id="b9")
    assert told == []
    dynamodb.tables[SILO].clear()
    await table.find(book_by_id, id="b1")
    assert told == [("acme", "GetItem")]


async def test_a_write_between_the_two_reads_is_no_difference() -> None:
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)

    def written() -> None:
        for items in dynamodb.tables.values():
            items.update({key: {**item, "title": {"S": f"again {len(dynamodb.calls)}"}} for key, item in items.items()})

    for interludes in ([None, written], [written] * 12):
        dynamodb.before_calls = list(interludes)
        await table.find(book_by_id, id="b1")
    assert told == []


async def test_the_second_comparison_reads_consistently_where_possible() -> None:
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)
    dynamodb.tables[SILO].clear()
    await read(table, "GetItem")
    assert [call.parameters["ConsistentRead"] for call in dynamodb.calls[:2]] == [False, False]
    assert all(call.parameters["ConsistentRead"] for call in dynamodb.calls[2:])
    dynamodb.calls.clear()
    await read(table, "Query")
    assert not any("ConsistentRead" in call.parameters for call in dynamodb.calls), "an index has no consistent reads"


async def test_a_second_table_that_cannot_be_read_counts_as_a_difference_and_fails_no_read() -> None:
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)
    dynamodb.failing_tables[SILO] = DynamoDbError("AccessDeniedException", "")
    assert await read(table, "GetItem")
    assert told == [("acme", "GetItem")]


async def test_the_capacity_of_both_tables_is_counted() -> None:
    dynamodb, told = TwoTableDynamoDB(), Told()
    table = await shadowed(dynamodb, told)
    await read(table, "GetItem")
    assert isinstance(table.caller.meter, CapacityMeter)
    assert table.caller.meter.calls["GetItem"] == 2


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"Item": {"a": {"SS": ["x", "y"]}}}, {"Item": {"a": {"SS": ["y", "x"]}}}, True),
        ({"Item": {"a": {"L": [{"S": "x"}, {"S": "y"}]}}}, {"Item": {"a": {"L": [{"S": "y"}, {"S": "x"}]}}}, False),
        (
            {"Items": [{"a": {"S": "1"}}]},
            {"Items": [{"a": {"S": "1"}}], "ConsumedCapacity": {"CapacityUnits": 9}},
            True,
        ),
        ({"Items": [{"a": {"S": "1"}}, {"a": {"S": "2"}}]}, {"Items": [{"a": {"S": "2"}}, {"a": {"S": "1"}}]}, False),
        ({}, {"Item": {"a": {"S": "1"}}}, False),
        ({"Responses": [{"Item": {"a": {"S": "1"}}}, {}]}, {"Responses": [{}, {"Item": {"a": {"S": "1"}}}]}, False),
    ],
    ids=["sets", "lists", "costs", "order", "missing", "together"],
)
def test_answers_are_compared_by_their_items(one: Answer, other: Answer, alike: bool) -> None:
    assert (comparable_answer(one, NAME) == comparable_answer(other, SILO)) is alike


def test_the_order_of_a_batch_does_not_count_and_an_incomplete_batch_is_not_compared() -> None:
    some: list[Any] = [{"PK": {"S": "p"}, "SK": {"S": sort}} for sort in "ab"]
    assert comparable_answer({"Responses": {NAME: some}}, NAME) == comparable_answer(
        {"Responses": {SILO: some[::-1]}}, SILO
    )
    assert comparable_answer({"Responses": {NAME: some}, "UnprocessedKeys": {NAME: {}}}, NAME) is None


def test_a_transactional_read_is_made_on_the_second_table_too() -> None:
    gets = {"TransactItems": [{"Get": {"TableName": NAME, "Key": {}}}]}
    assert parameters_for_table(SILO, gets, consistent=True) == {
        "TransactItems": [{"Get": {"TableName": SILO, "Key": {}}}]
    }


def _table(parameters: Any) -> str:
    return str(parameters.get("TableName") or next(iter(parameters["RequestItems"])))
