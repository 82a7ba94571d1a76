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
from tests.fakes.scripted_dynamodb import TABLE_NAME
from tests.fakes.two_table_dynamodb import DUAL, SHADOW, SILO, TwoTableDynamoDB, handle


class ReportedDifferences(list[tuple[str, str]]):
    """Collects the reported differences."""

    def __call__(self, tenant: str, operation: str) -> None:
        self.append((tenant, operation))


async def table_that_compares_reads(
    dynamodb: TwoTableDynamoDB, reports: ReportedDifferences, *, may_write: bool = False
) -> Table:
    await handle(dynamodb, DUAL).write(
        *(put(books, book(f"b{number}", day=number)) for number in range(3)), put(chapters, chapter(1))
    )
    dynamodb.calls.clear()
    table = handle(dynamodb, SHADOW, reports, may_write=may_write)
    return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=1, first_pause_seconds=0.0)))


async def read_with(table: Table, operation: str) -> object:
    match operation:
        case "GetItem":
            return await table.find(book_by_id, id="b1")
        case "Query":
            return (await table.page(oldest_books, first=2)).items
    return await table.find_many(chapter_by_number, [{"book_id": f"b{number}", "number": 1} for number in (2, 1)])


each_read_operation = pytest.mark.parametrize("operation", ["GetItem", "Query", "BatchGetItem"])


@each_read_operation
async def test_equal_answers_take_one_read_of_each_table(operation: str) -> None:
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)
    assert await read_with(table, operation) == await read_with(handle(dynamodb, DUAL), operation)
    assert sorted(_table(call.parameters) for call in dynamodb.calls[:2]) == [TABLE_NAME, SILO]
    assert [call.operation for call in dynamodb.calls] == [operation] * 3
    assert reports == []


@each_read_operation
async def test_a_permanent_difference_is_reported_once_and_the_answer_is_from_the_first_table(operation: str) -> None:
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)
    expected = await read_with(handle(dynamodb, DUAL), operation)
    for key, item in dynamodb.tables[SILO].items():
        dynamodb.tables[SILO][key] = {**item, "version": {"N": "7"}}
    assert await read_with(table, operation) == expected
    assert reports == [("acme", operation)]


async def test_an_item_that_is_missing_in_the_other_table_is_a_difference_and_one_that_is_missing_in_both_is_none() -> (
    None
):
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)
    await table.find(book_by_id, id="b9")
    assert reports == []
    dynamodb.tables[SILO].clear()
    await table.find(book_by_id, id="b1")
    assert reports == [("acme", "GetItem")]


async def test_a_write_between_the_two_reads_is_no_difference() -> None:
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)

    def write_both_tables() -> None:
        for items in dynamodb.tables.values():
            items.update({key: {**item, "title": {"S": f"again {len(dynamodb.calls)}"}} for key, item in items.items()})

    for writes_before_calls in ([None, write_both_tables], [write_both_tables] * 12):
        dynamodb.before_calls = list(writes_before_calls)
        await table.find(book_by_id, id="b1")
    assert reports == []


async def test_the_second_comparison_reads_consistently_where_possible() -> None:
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)
    dynamodb.tables[SILO].clear()
    await read_with(table, "GetItem")
    assert [call.parameters["ConsistentRead"] for call in dynamodb.calls[:2]] == [False, False]
    assert all(call.parameters["ConsistentRead"] for call in dynamodb.calls[2:])
    dynamodb.calls.clear()
    await read_with(table, "Query")
    assert not any("ConsistentRead" in call.parameters for call in dynamodb.calls), "an index has no consistent reads"


async def test_a_second_table_that_cannot_be_read_counts_as_a_difference_and_fails_no_read() -> None:
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)
    dynamodb.failing_tables[SILO] = DynamoDbError("AccessDeniedException", "")
    assert await read_with(table, "GetItem")
    assert reports == [("acme", "GetItem")]


async def test_the_capacity_of_both_tables_is_counted() -> None:
    dynamodb, reports = TwoTableDynamoDB(), ReportedDifferences()
    table = await table_that_compares_reads(dynamodb, reports)
    await read_with(table, "GetItem")
    assert isinstance(table.caller.meter, CapacityMeter)
    assert table.caller.meter.calls["GetItem"] == 2


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
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
def test_answers_are_compared_by_their_items(one: Answer, other: Answer, are_equal: bool) -> None:
    assert (comparable_answer(one, TABLE_NAME) == comparable_answer(other, SILO)) is are_equal


def test_the_order_of_a_batch_does_not_count_and_an_incomplete_batch_is_not_compared() -> None:
    items: list[Any] = [{"PK": {"S": "p"}, "SK": {"S": sort}} for sort in "ab"]
    assert comparable_answer({"Responses": {TABLE_NAME: items}}, TABLE_NAME) == comparable_answer(
        {"Responses": {SILO: items[::-1]}}, SILO
    )
    assert (
        comparable_answer({"Responses": {TABLE_NAME: items}, "UnprocessedKeys": {TABLE_NAME: {}}}, TABLE_NAME) is None
    )


def test_a_transactional_read_is_made_on_the_second_table_too() -> None:
    gets = {"TransactItems": [{"Get": {"TableName": TABLE_NAME, "Key": {}}}]}
    assert parameters_for_table(SILO, gets, consistent=True) == {
        "TransactItems": [{"Get": {"TableName": SILO, "Key": {}}}]
    }


def _table(parameters: Any) -> str:
    return str(parameters.get("TableName") or next(iter(parameters["RequestItems"])))
