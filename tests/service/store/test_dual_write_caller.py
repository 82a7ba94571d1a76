"""While a tenant moves, writes go to both tables or to neither, and callers cannot see the difference."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from keyfence.errors import Conflict, Forbidden, KeyfenceError, NotFound, Throttled
from keyfence.store.cursor import CursorCodec
from keyfence.store.dual_write.dual_transaction import DualTransaction
from keyfence.store.dual_write.item_sync import ItemSync, SyncOutcome
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.expressions import UpdateExpression, absent, equals, present
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import StaleWrite, Write, check, delete, increment, put, update_attributes, update_model
from keyfence_iam.sts.session_spec import TableAccess
from tests.data.bookshop import OPENING, Count, book, book_by_id, books, chapter, chapter_by_number, chapters, counts
from tests.fakes.fences import INDEX_TAGS
from tests.fakes.scripted_dynamodb import CURSOR_KEY, TABLE_NAME
from tests.fakes.two_table_dynamodb import (
    ACME,
    DUAL,
    POOLED,
    SILO,
    SILOED,
    SWITCHED,
    InMemoryTables,
    TwoTableDynamoDB,
    handle,
)

BOOK = book("b1", tags=frozenset({"new"}))
DOOR_COUNT = Count(name="door", part="p", created_at=OPENING, updated_at=OPENING)
TAG_AS_READ = UpdateExpression(sets={("version",): 2}, adds={("tags",): frozenset({"read"})})
THROTTLED = DynamoDbError("ProvisionedThroughputExceededException", "")


def with_two_attempts(table: Table) -> Table:
    return replace(table, caller=replace(table.caller, retry_policy=RetryPolicy(attempts=2, first_pause_seconds=0.0)))


def tables_are_equal(dynamodb: TwoTableDynamoDB) -> bool:
    return dynamodb.tables[TABLE_NAME] == dynamodb.tables[SILO]


def transactions(dynamodb: TwoTableDynamoDB) -> list[Any]:
    return [call.parameters for call in dynamodb.calls if call.operation == "TransactWriteItems"]


@pytest.mark.parametrize(
    ("location", "read_table", "table_access"),
    [
        (POOLED, TABLE_NAME, TableAccess.POOL),
        (DUAL, TABLE_NAME, TableAccess.BOTH),
        (SWITCHED, SILO, TableAccess.BOTH),
        (SILOED, SILO, TableAccess.SILO),
    ],
    ids=["pool", "dual", "switched", "silo"],
)
async def test_a_handle_reads_the_table_of_its_location_with_credentials_for_its_tables_only(
    location: TenantLocation, read_table: str, table_access: TableAccess
) -> None:
    dynamodb, credential_provider = TwoTableDynamoDB(), InMemoryTables()
    tables = Tables(
        client=dynamodb,
        name=TABLE_NAME,
        cursors=CursorCodec([CURSOR_KEY]),
        index_tags=INDEX_TAGS,
        credentials=credential_provider,
    )
    await tables.for_tenant(location, may_write=True).find(book_by_id, id="b1")
    assert [call.parameters["TableName"] for call in dynamodb.calls] == [read_table]
    assert credential_provider.asked == [table_access]


@pytest.mark.parametrize("location", [DUAL, SWITCHED], ids=["dual", "switched"])
async def test_each_type_of_write_leaves_both_tables_equal(location: TenantLocation) -> None:
    dynamodb = TwoTableDynamoDB()
    table = handle(dynamodb, location)
    steps: list[Write[Any]] = [
        put(books, BOOK, when=absent()),
        put(chapters, chapter(1)),
        update_attributes(books, {"id": "b1"}, TAG_AS_READ),
        update_model(books, replace(BOOK, version=2), replace(BOOK, version=3, shelf="s2")),
        increment(counts, DOOR_COUNT, "total", 3),
        increment(counts, DOOR_COUNT, "total", 4),
        delete(chapters, {"book_id": "b1", "number": 1}),
    ]
    for step in steps:
        await table.write(step)
        assert tables_are_equal(dynamodb)
    assert len(dynamodb.tables[TABLE_NAME]) == 2
    found = await table.find(book_by_id, id="b1")
    assert found
    assert (found.shelf, found.version, found.tags) == ("s2", 3, frozenset({"new", "read"}))


async def test_an_item_that_the_second_table_lacks_is_copied_before_it_is_updated() -> None:
    dynamodb = TwoTableDynamoDB()
    await handle(dynamodb, POOLED).write(put(books, BOOK))
    await handle(dynamodb, DUAL).write(update_attributes(books, {"id": "b1"}, TAG_AS_READ), put(chapters, chapter(1)))
    assert tables_are_equal(dynamodb)
    _, first, copy, second = transactions(dynamodb)
    assert first["ClientRequestToken"] == second["ClientRequestToken"], "it is the same transaction"
    assert [next(iter(action)) for action in copy["TransactItems"]] == ["ConditionCheck", "Put"]


async def test_an_item_that_neither_table_has_is_created_in_both_by_a_new_transaction() -> None:
    dynamodb = TwoTableDynamoDB()
    await handle(dynamodb, DUAL).write(increment(counts, DOOR_COUNT, "total", 3))
    first, second = transactions(dynamodb)
    assert tables_are_equal(dynamodb)
    assert first["ClientRequestToken"] != second["ClientRequestToken"]


async def test_an_older_copy_that_an_update_does_not_fit_is_replaced() -> None:
    dynamodb = TwoTableDynamoDB()
    pool = handle(dynamodb, POOLED)
    await handle(dynamodb, DUAL).write(put(books, BOOK))
    await pool.write(update_attributes(books, {"id": "b1"}, UpdateExpression(sets={("place",): {"a": 1}})))
    await handle(dynamodb, DUAL).write(
        update_attributes(books, {"id": "b1"}, UpdateExpression(sets={("place", "b"): 2}))
    )
    assert tables_are_equal(dynamodb)


async def test_an_item_that_only_the_second_table_has_is_overwritten_or_deleted() -> None:
    dynamodb = TwoTableDynamoDB()
    await handle(dynamodb, DUAL).write(put(books, BOOK), put(chapters, chapter(1)))
    pool = handle(dynamodb, POOLED)
    await pool.write(delete(books, {"id": "b1"}), delete(chapters, {"book_id": "b1", "number": 1}))
    delete_absent = delete(chapters, {"book_id": "b1", "number": 1}, when=absent())
    await handle(dynamodb, DUAL).write(put(books, replace(BOOK, title="New"), when=absent()), delete_absent)
    assert tables_are_equal(dynamodb)
    assert len(dynamodb.tables[TABLE_NAME]) == 1


def test_a_canceled_transaction_looks_as_if_there_were_no_copies() -> None:
    actions: list[Any] = [{"ConditionCheck": {}}, {"Put": {"Item": {}}}, {"Delete": {"Key": {}}}]
    transaction = DualTransaction.for_tables(actions, SILO)
    reasons = ("None", "None", "TransactionConflict", "ThrottlingError", "ConditionalCheckFailed")
    raised = transaction.as_single_table_error(DynamoDbError("TransactionCanceledException", "", reasons))
    assert raised.cancellation_reasons == ("None", "ThrottlingError", "TransactionConflict")
    assert transaction.missing_copies(raised) == {}


async def test_only_the_original_writes_are_reasons_of_an_error() -> None:
    dynamodb = TwoTableDynamoDB()
    table = handle(dynamodb, DUAL)
    await table.write(put(books, BOOK))
    missing, taken = NotFound("no such chapter"), Conflict("there is one")
    condition_check = check(chapters, {"book_id": "b1", "number": 1}, when=present(), on_failure=lambda: missing)
    items_before = dynamodb.tables[TABLE_NAME].copy()
    with pytest.raises(NotFound) as error:
        await table.write(update_attributes(books, {"id": "b1"}, TAG_AS_READ), condition_check)
    assert error.value is missing
    with pytest.raises(Conflict) as conflict:
        await table.write(put(chapters, chapter(2)), put(books, BOOK, when=absent(), on_failure=lambda: taken))
    assert conflict.value is taken
    assert dynamodb.tables == {TABLE_NAME: items_before, SILO: items_before}


async def test_a_write_whose_own_condition_fails_copies_nothing() -> None:
    dynamodb = TwoTableDynamoDB()
    await handle(dynamodb, POOLED).write(put(books, BOOK))
    with pytest.raises(Conflict):
        await handle(dynamodb, DUAL).write(
            update_attributes(books, {"id": "b1"}, TAG_AS_READ, when=equals("version", 7))
        )
    assert dynamodb.tables[SILO] == {}


@pytest.mark.parametrize("location", [DUAL, SWITCHED], ids=["dual", "switched"])
@pytest.mark.parametrize(
    ("raised", "error"),
    [(THROTTLED, Throttled), (DynamoDbError("AccessDeniedException", ""), Forbidden)],
    ids=["busy", "denied"],
)
async def test_if_the_second_table_cannot_be_written_nothing_is_written(
    location: TenantLocation, raised: DynamoDbError, error: type[KeyfenceError]
) -> None:
    dynamodb = TwoTableDynamoDB()
    table = with_two_attempts(handle(dynamodb, location))
    await table.write(put(books, BOOK))
    items_before = dynamodb.tables[TABLE_NAME].copy()
    dynamodb.failing_tables[TABLE_NAME if location is SWITCHED else SILO] = raised
    attempts: list[Callable[[], Any]] = [
        lambda: table.write(put(books, book("b2"))),
        lambda: table.write(update_attributes(books, {"id": "b1"}, TAG_AS_READ)),
        lambda: table.put_many(books, [book("b3")]),
        lambda: table.delete_many(book_by_id, [{"id": "b1"}]),
    ]
    for attempt in attempts:
        with pytest.raises(error):
            await attempt()
    assert dynamodb.tables == {TABLE_NAME: items_before, SILO: items_before}


async def test_a_throttled_copy_is_a_throttle() -> None:
    dynamodb = TwoTableDynamoDB()
    reasons = ("None", "None", "ThrottlingError")
    dynamodb.failing_tables[SILO] = DynamoDbError("TransactionCanceledException", "", reasons)
    condition_check = check(chapters, {"book_id": "b1", "number": 1}, when=absent(), on_failure=StaleWrite)
    with pytest.raises(Throttled, match="too busy"):
        await with_two_attempts(handle(dynamodb, DUAL)).write(condition_check, put(books, BOOK))


async def test_batches_are_written_to_both_tables() -> None:
    dynamodb = TwoTableDynamoDB()
    table = handle(dynamodb, DUAL)
    some_chapters = [chapter(number) for number in range(1, 60)]
    await table.put_many(chapters, some_chapters)
    assert tables_are_equal(dynamodb)
    await table.delete_many(chapter_by_number, [{"book_id": "b1", "number": one.number} for one in some_chapters[1:]])
    assert tables_are_equal(dynamodb)
    assert len(dynamodb.tables[SILO]) == 1


async def test_a_split_transaction_fits_and_a_larger_one_is_refused_until_after_the_move() -> None:
    dynamodb = TwoTableDynamoDB()
    table = handle(dynamodb, DUAL)
    await table.write(*(put(chapters, chapter(number)) for number in range(MAX_SPLIT_TRANSACTION_WRITES)))
    assert tables_are_equal(dynamodb)
    with pytest.raises(Throttled, match="retry after the move"):
        await table.write(
            *(put(chapters, chapter(number)) for number in range(100, 101 + MAX_SPLIT_TRANSACTION_WRITES))
        )
    assert len(dynamodb.tables[TABLE_NAME]) == MAX_SPLIT_TRANSACTION_WRITES


async def test_an_unknown_operation_is_refused() -> None:
    dynamodb = TwoTableDynamoDB()
    with pytest.raises(TypeError, match="two tables"):
        await handle(dynamodb, DUAL).caller.call("PutItem", {"TableName": TABLE_NAME, "Item": {}})
    assert dynamodb.calls == []


async def test_an_item_that_changes_meanwhile_is_not_copied() -> None:
    dynamodb = TwoTableDynamoDB()
    pool = handle(dynamodb, POOLED)
    await pool.write(put(books, BOOK))
    before = dict(dynamodb.tables[TABLE_NAME])
    (key,) = before
    item_sync = ItemSync(caller=pool.caller, source=TABLE_NAME, target=SILO)
    item_key = {"PK": {"S": key.partition}, "SK": {"S": key.sort}}
    for changed_attributes in ({"title": {"S": "x"}}, {"version": {"N": "9"}}):
        dynamodb.before_calls = [
            None,
            None,
            partial(dynamodb.tables[TABLE_NAME].update, {key: before[key] | changed_attributes}),
        ]
        assert await item_sync.sync(item_key) is SyncOutcome.CONFLICT
        assert dynamodb.tables[SILO] == {}
        dynamodb.tables[TABLE_NAME] = dict(before)
    dynamodb.before_calls = [
        None,
        None,
        lambda: dynamodb.tables[SILO].update({key: before[key] | {"note": {"S": "n"}}}),
    ]
    assert await item_sync.sync(item_key) is SyncOutcome.CONFLICT
    dynamodb.tables[SILO].clear()
    assert await item_sync.sync(item_key) is SyncOutcome.COPIED
    assert await item_sync.sync(item_key) is SyncOutcome.EQUAL
    dynamodb.tables[TABLE_NAME].clear()
    assert await item_sync.sync(item_key) is SyncOutcome.COPIED, (
        "an item that the source lacks is deleted from the target"
    )
    assert await item_sync.sync(item_key) is SyncOutcome.ABSENT


async def test_concurrent_updates_of_an_item_that_was_not_copied_yet_lose_nothing() -> None:
    dynamodb = TwoTableDynamoDB()
    await handle(dynamodb, POOLED).write(put(books, BOOK), increment(counts, DOOR_COUNT, "total", 1))
    tables = [handle(dynamodb, DUAL) for _ in range(8)]
    tags = [UpdateExpression(adds={("tags",): frozenset({f"t{number}"})}) for number in range(8)]
    await asyncio.gather(
        *(
            table.write(update_attributes(books, {"id": "b1"}, tag), increment(counts, DOOR_COUNT, "total", 1))
            for table, tag in zip(tables, tags, strict=True)
        )
    )
    assert tables_are_equal(dynamodb)
    found = await tables[0].find(book_by_id, id="b1")
    assert found
    assert found.tags == {"new", *(f"t{number}" for number in range(8))}
    assert [item["total"]["N"] for item in dynamodb.tables[SILO].values() if "total" in item] == ["9"]


async def test_an_expired_location_says_why() -> None:
    table = handle(TwoTableDynamoDB(), acme_location(valid_until=float("-inf"), expired_message="run it again"))
    with pytest.raises(Throttled, match="run it again"):
        await table.find(book_by_id, id="b1")


def acme_location(**reasons: Any) -> TenantLocation:
    return TenantLocation(**{"tenant": ACME, **reasons})
