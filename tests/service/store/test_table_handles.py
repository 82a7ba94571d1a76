"""A table reads and writes inside its fence, and raises Keyfence's errors."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import pytest

from keyfence.errors import BadInput, Conflict, Forbidden, Internal, NotFound, Throttled
from keyfence.store.cursor import CursorCodec
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.capacity import CapacityMeter, ConsumedCapacity
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.expressions import UpdateExpression, absent, present
from keyfence.store.foreign_items import ForeignItemLog
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import StaleWrite, delete, put, update_attributes
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId
from tests.data.bookshop import Branch, book, book_by_id, books, branches, chapter, chapters, chapters_of_book
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.fences import INDEX_TAGS
from tests.fakes.scripted_dynamodb import CURSOR_KEY, RETRY_POLICY, TABLE_NAME, ScriptedDynamoDB, credentials, table

PUT_BOOK = (put(books, book("b1"), when=absent(), on_failure=lambda: Conflict("taken")),)


async def test_an_item_is_found_by_its_own_tenant_only() -> None:
    dynamodb = InMemoryDynamoDB()
    await table(dynamodb, "acme").write(put(books, book("b1")))
    assert await table(dynamodb, "acme").find(book_by_id, id="b1") == book("b1")
    assert await table(dynamodb, "acmecorp").find(book_by_id, id="b1") is None


async def test_a_control_item_cannot_be_reached_through_a_tenants_table() -> None:
    branch = Branch(id="x", created_at=book("b1").created_at, updated_at=book("b1").updated_at)
    dynamodb = InMemoryDynamoDB()
    with pytest.raises(TypeError):
        await table(dynamodb).write(put(branches, branch))
    with pytest.raises(TypeError):
        await table(dynamodb).find(branches.get(), id="x")
    with pytest.raises(TypeError):
        await table(dynamodb, fence=Fence.for_control_plane()).find(book_by_id, id="b1")
    assert dynamodb.calls == []


@pytest.mark.parametrize("consistent", [True, False])
async def test_reads_are_as_consistent_as_the_table_says(consistent: bool) -> None:
    dynamodb = InMemoryDynamoDB()
    reading = table(dynamodb, consistent=consistent)
    await reading.find(book_by_id, id="b1")
    await reading.page(chapters_of_book, first=1, book_id="b1")
    assert [call.parameters["ConsistentRead"] for call in dynamodb.calls] == [consistent, consistent]
    await reading.page(books.query("gsi1"), first=1, shelf="s1")
    assert "ConsistentRead" not in dynamodb.calls[-1].parameters, "an index has no consistent reads"


async def test_a_transaction_keeps_its_token_through_every_retry_and_the_next_has_its_own() -> None:
    client = ScriptedDynamoDB(
        [DynamoDbError("ConnectionLost", ""), DynamoDbError("TransactionInProgressException", ""), {}, {}]
    )
    await table(client).write(*PUT_BOOK)
    await table(client).write(*PUT_BOOK)
    tokens = [call.parameters["ClientRequestToken"] for call in client.calls]
    assert tokens[0] == tokens[1] == tokens[2]
    assert tokens[3] != tokens[0]
    assert 1 <= len(tokens[0]) <= 36


async def test_the_first_write_whose_condition_failed_says_what_is_wrong() -> None:
    dynamodb = InMemoryDynamoDB()
    dynamodb.store(books, book("b1"), book("b2"))
    with pytest.raises(NotFound, match="b3"):
        await table(dynamodb).write(
            put(books, book("b9"), when=absent()),
            delete(books, {"id": "b3"}, when=present(), on_failure=lambda: NotFound("no b3")),
            put(books, book("b1"), when=absent(), on_failure=lambda: Conflict("taken")),
        )
    assert len(dynamodb.items) == 2, "all writes or none"


async def test_a_canceled_transaction_is_retried_only_after_conflicts() -> None:
    conflict = DynamoDbError("TransactionCanceledException", "", ("TransactionConflict",))
    client = ScriptedDynamoDB([conflict, {}])
    await table(client).write(*PUT_BOOK)
    assert len(client.calls) == 2
    client = ScriptedDynamoDB([conflict] * 10)
    with pytest.raises(Throttled):
        await table(client).write(*PUT_BOOK)
    assert len(client.calls) == RETRY_POLICY.attempts
    client = ScriptedDynamoDB([DynamoDbError("TransactionCanceledException", "", ("ConditionalCheckFailed",)), {}])
    with pytest.raises(Conflict, match="taken"):
        await table(client).write(*PUT_BOOK)
    assert len(client.calls) == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [("AccessDeniedException", Forbidden), ("ValidationException", Internal), ("ThrottlingException", Throttled)],
)
async def test_dynamodb_errors_become_keyfence_errors(code: str, error: type[Exception]) -> None:
    reads_and_writes: list[Callable[[Table], Awaitable[object]]] = [
        lambda one: one.find(book_by_id, id="b1"),
        lambda one: one.find_many(book_by_id, [{"id": "b1"}]),
        lambda one: one.page(chapters_of_book, first=1, book_id="b1"),
        lambda one: one.delete_many(book_by_id, [{"id": "b1"}]),
        lambda one: one.write(*PUT_BOOK),
    ]
    for ask in reads_and_writes:
        with pytest.raises(error):
            await ask(table(ScriptedDynamoDB([DynamoDbError(code, "text")] * 10)))


async def test_a_transaction_of_more_than_100_writes_is_refused_before_it_is_sent() -> None:
    client = ScriptedDynamoDB([{}])
    with pytest.raises(Internal):
        await table(client).write(*PUT_BOOK * 101)
    assert client.calls == []
    await table(client).write(*PUT_BOOK * 100)
    assert len(client.calls[0].parameters["TransactItems"]) == 100


async def test_a_stale_change_is_a_conflict() -> None:
    with pytest.raises(StaleWrite):
        await table(InMemoryDynamoDB()).write(
            update_attributes(books, {"id": "b1"}, UpdateExpression(sets={("version",): 2}))
        )


async def test_a_key_that_is_too_long_is_bad_input_and_makes_no_call() -> None:
    dynamodb = InMemoryDynamoDB()
    with pytest.raises(BadInput):
        await table(dynamodb).find(book_by_id, id="x" * 3000)
    assert dynamodb.calls == []


async def test_all_items_of_a_partition_are_read_page_by_page() -> None:
    dynamodb = InMemoryDynamoDB(page_items=7)
    dynamodb.store(chapters, *(chapter(number) for number in range(30)))
    dynamodb.store(chapters, chapter(1, "b2"))
    read = [one.number async for one in table(dynamodb).iterate_shards(chapters_of_book, book_id="b1")]
    assert read == list(range(30))
    assert len(dynamodb.calls) == 5


class RecordingCredentials:
    """Returns credentials, and records the requested tenants."""

    def __init__(self) -> None:
        self.requested_sessions: list[Any] = []

    def for_tenant(self, tenant: TenantId, *, may_write: bool, table_access: TableAccess) -> CredentialSource:
        self.requested_sessions.append((tenant, may_write))
        return credentials

    def for_control_plane(self, *, may_write: bool) -> CredentialSource:
        self.requested_sessions.append(("control", may_write))
        return credentials


def test_a_handle_has_the_fence_and_the_credentials_of_its_own_tenant() -> None:
    credential_provider, on_foreign_items, on_denied = RecordingCredentials(), ForeignItemLog(), lambda: None
    tables = Tables(
        client=InMemoryDynamoDB(),
        name=TABLE_NAME,
        cursors=CursorCodec([CURSOR_KEY]),
        index_tags=INDEX_TAGS,
        credentials=credential_provider,
        on_foreign_items=on_foreign_items,
        on_denied=on_denied,
    )
    reading, writing, control = (
        tables.for_tenant(TenantLocation(tenant=TenantId("acme")), may_write=False),
        tables.for_tenant(TenantLocation(tenant=TenantId("globex")), may_write=True),
        tables.for_control_plane(may_write=False),
    )
    assert [one.fence.prefix for one in (reading, writing, control)] == ["TENANT#acme#", "TENANT#globex#", "CONTROL#"]
    assert credential_provider.requested_sessions == [("acme", False), ("globex", True), ("control", False)]
    assert [one.consistent for one in (reading, writing)] == [False, True], "writes depend on reads"
    assert all(one.on_foreign_items is on_foreign_items for one in (reading, writing, control))
    assert all(one.caller.on_denied is on_denied for one in (reading, writing, control))


def test_a_handle_is_charged_to_its_tenant_and_in_total_or_to_the_meter_of_its_request() -> None:
    accounts = {tenant: CapacityMeter() for tenant in (TenantId("acme"), TenantId("acmecorp"), None)}
    tables = Tables(
        client=InMemoryDynamoDB(),
        name=TABLE_NAME,
        cursors=CursorCodec([CURSOR_KEY]),
        index_tags=INDEX_TAGS,
        credentials=RecordingCredentials(),
        accounts=lambda tenant: (accounts[tenant],),
    )
    request_meter, limit = CapacityMeter(), nullcontext()
    tables.for_tenant(TenantLocation(tenant=TenantId("acme")), may_write=False).caller.meter.add(
        ConsumedCapacity("Query", 1.0)
    )
    tables.for_tenant(TenantLocation(tenant=TenantId("acmecorp")), may_write=True).caller.meter.add(
        ConsumedCapacity("PutItem", 0.0, 2.0)
    )
    tables.for_control_plane(may_write=False).caller.meter.add(ConsumedCapacity("GetItem", 4.0))
    request_caller = tables.for_tenant(
        TenantLocation(tenant=TenantId("acme")), may_write=False, meter=request_meter, call_limit=limit
    ).caller
    assert [(one.read_units, one.write_units) for one in accounts.values()] == [(1.0, 0.0), (0.0, 2.0), (4.0, 0.0)]
    assert (tables.meter.read_units, tables.meter.write_units) == (5.0, 2.0)
    assert (request_caller.meter, request_caller.call_limit) == (request_meter, limit)
