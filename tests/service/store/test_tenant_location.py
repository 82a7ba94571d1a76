"""No call is made with a location that has expired."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from keyfence.errors import Throttled
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit
from keyfence.store.table import Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import put
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId
from tests.data.bookshop import book, book_by_id, books, oldest_books
from tests.fakes.clock import ManualClock
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.fences import INDEX_TAGS
from tests.fakes.scripted_dynamodb import table
from tests.fakes.shard_maps import even_shards


def handle_at(dynamodb: InMemoryDynamoDB, location: TenantLocation, clock: ManualClock) -> Table:
    handle = table(dynamodb)
    return replace(handle, caller=replace(handle.caller, location=location, clock=clock))


async def test_after_a_location_expires_no_call_is_sent() -> None:
    dynamodb, clock = InMemoryDynamoDB(), ManualClock(0.0)
    handle = handle_at(dynamodb, TenantLocation(tenant=TenantId("acme"), valid_until=10.0), clock)
    await handle.write(put(books, book("b1")))
    clock.now = 10.0
    assert await handle.find(book_by_id, id="b1") == book("b1")
    clock.now = 10.1
    sent = len(dynamodb.calls)
    with pytest.raises(Throttled, match="items may be elsewhere"):
        await handle.find(book_by_id, id="b1")
    with pytest.raises(Throttled):
        await handle.write(put(books, book("b2")))
    with pytest.raises(Throttled):
        await handle.page(oldest_books, first=1)
    assert len(dynamodb.calls) == sent


async def test_a_location_that_is_updated_is_used_from_the_next_call_on() -> None:
    dynamodb, clock = InMemoryDynamoDB(), ManualClock(0.0)
    location = TenantLocation(tenant=TenantId("acme"), valid_until=10.0)
    handle = handle_at(dynamodb, location, clock)
    clock.now, location.valid_until, location.shards = 11.0, 20.0, even_shards({"books": 4})
    await handle.page(oldest_books, first=1)
    assert len(dynamodb.calls) == 4


async def test_a_call_made_from_an_expired_location_is_not_sent_although_the_location_was_updated() -> None:
    dynamodb, clock, limit = InMemoryDynamoDB(), ManualClock(0.0), ConcurrencyLimit(1)
    location = TenantLocation(tenant=TenantId("acme"), valid_until=10.0)
    handle = handle_at(dynamodb, location, clock)
    handle = replace(handle, caller=replace(handle.caller, call_limit=limit))
    async with limit:
        writing = asyncio.ensure_future(handle.write(put(books, book("b1"))))
        await asyncio.sleep(0)
        clock.now, location.valid_until, location.shards = 11.0, 20.0, even_shards({"books": 4})
    with pytest.raises(Throttled, match="items may be elsewhere"):
        await writing
    assert not dynamodb.calls
    await handle.write(put(books, book("b1")))


def test_a_location_without_a_tenant_has_no_handle(tables: Tables) -> None:
    with pytest.raises(TypeError, match="has no tenant"):
        tables.for_tenant(TenantLocation(), may_write=False)


@pytest.fixture
def tables() -> Tables:
    handle = table(InMemoryDynamoDB())
    return Tables(
        client=handle.caller.client,
        name="t",
        cursors=handle.cursors,
        index_tags=INDEX_TAGS,
        credentials=NoCredentials(),
    )


class NoCredentials:
    """Fails the test if credentials are requested."""

    def for_tenant(self, tenant: TenantId, *, may_write: bool, table_access: TableAccess) -> CredentialSource:
        raise AssertionError(tenant)

    def for_control_plane(self, *, may_write: bool) -> CredentialSource:
        raise AssertionError(may_write)


async def test_a_call_that_waits_for_a_connection_until_its_location_expires_is_not_sent() -> None:
    """If the call were sent after the wait, it could use a shard that no longer exists."""
    clock, dynamodb = ManualClock(0.0), BlockedDynamoDB()
    handle = handle_at(dynamodb, TenantLocation(tenant=TenantId("acme"), valid_until=10.0), clock)
    first = asyncio.ensure_future(handle.find(book_by_id, id="b1"))
    second = asyncio.ensure_future(handle.find(book_by_id, id="b2"))
    await asyncio.sleep(0.01)
    clock.now = 11.0
    dynamodb.unblocked.set()
    await first
    with pytest.raises(Throttled):
        await second
    assert len(dynamodb.calls) == 1


@dataclass
class BlockedDynamoDB(InMemoryDynamoDB):
    """A client with one connection, which is blocked until `unblocked` is set."""

    connection_limit: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(1))
    unblocked: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        await self.unblocked.wait()
        return await InMemoryDynamoDB.call(self, operation, parameters, credentials)
