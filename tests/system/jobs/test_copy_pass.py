"""Items are copied many at a time. An item that another writer changes meanwhile is copied alone."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.copy_pass import CopyPass
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.tenancy.placement import Placement
from keyfence_iam.credentials import Credentials
from keyfence_iam.dynamodb.capacity import consumed_total
from keyfence_iam.tenant import TenantId
from tests.stack import RecordingClient, ServiceStack
from tests.system.jobs.offboarding_run import all_items, connect_as_migrator, items_of, put_items, with_client
from tests.system.jobs.rekey_run import right_items

pytestmark = pytest.mark.one_engine
COUNT = 30


@dataclass(slots=True)
class ConcurrentWriter:
    """Changes an item of the source right before the first transaction."""

    client: DynamoDb
    stack: ServiceStack
    item: Any

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        if operation == "TransactWriteItems" and self.item:
            put_items(self.stack, [self.item])
            self.item = None
        return await self.client.call(operation, parameters, credentials)

    def close(self) -> None: ...


@dataclass(slots=True)
class UnitCounter:
    """Adds up the capacity units of all answers."""

    client: DynamoDb
    units: float = 0.0

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        self.units += consumed_total(answer["ConsumedCapacity"])
        return answer

    def close(self) -> None: ...


@contextmanager
def copying(stack: ServiceStack, tenant: TenantId) -> Iterator[tuple[MigratorAccess, RecordingClient, CopyPass]]:
    with connect_as_migrator(stack) as migrator:
        recorder = RecordingClient(migrator.tables.client)
        with_recorder = with_client(migrator, recorder)
        source, target = (migrator.table_name(tenant, one) for one in (Placement.POOL, Placement.SILO))
        yield migrator, recorder, CopyPass(table=with_recorder.table_for_both(tenant), source=source, target=target)


def items_in_silo(stack: ServiceStack, tenant: TenantId) -> list[Any]:
    pages = stack.engine_client().get_paginator("scan").paginate(TableName=f"{stack.settings.table}-silo-{tenant}")
    return items_of([item for page in pages for item in page["Items"]], tenant)


async def test_small_items_are_copied_in_one_transaction_and_large_items_in_several(
    stack: ServiceStack, tenant: TenantId
) -> None:
    items = right_items(tenant, COUNT)
    large = [item | {"SK": {"S": "LARGE"}, "text": {"S": "x" * 300_000}} for item in items[:4]]
    with copying(stack, tenant) as (migrator, recorder, copies):
        await migrator.silos.create(tenant)
        for given, transactions in ((items, 2), (large, 2)):
            put_items(stack, given)
            recorder.calls.clear()
            assert (await copies.copy(given)).changed == len(given)
            assert [call.operation for call in recorder.calls].count("TransactWriteItems") == transactions
            assert (await copies.copy(given)).changed == 0
    assert items_in_silo(stack, tenant) == items_of(all_items(stack), tenant)


async def test_an_item_that_changes_meanwhile_is_copied_in_its_new_state_and_the_other_items_too(
    stack: ServiceStack, tenant: TenantId
) -> None:
    items = right_items(tenant, COUNT)
    put_items(stack, items)
    changed = items[3] | {"name": {"S": "newer"}, "version": {"N": "2"}}
    with copying(stack, tenant) as (migrator, recorder, copies):
        await migrator.silos.create(tenant)
        caller = replace(copies.table.caller, client=ConcurrentWriter(recorder, stack, changed))
        disturbed = replace(copies, table=replace(copies.table, caller=caller))
        assert (await disturbed.copy(items)).changed == COUNT
        operations = Counter(call.operation for call in recorder.calls)
    assert items_in_silo(stack, tenant) == items_of(all_items(stack), tenant)
    assert changed in items_in_silo(stack, tenant)
    # Two groups, the first group without the changed item, and the changed item.
    assert (operations["TransactWriteItems"], operations["GetItem"]) == (4, 2)


async def test_pages_that_are_processed_at_the_same_time_report_only_their_own_units(
    stack: ServiceStack, tenant: TenantId
) -> None:
    """The rate of a job is limited by these units. If a page also reported those of the others, the job would wait for
    them several times."""
    items = right_items(tenant, COUNT)
    put_items(stack, items)
    pages = [items[start : start + 10] for start in range(0, COUNT, 10)]
    with copying(stack, tenant) as (migrator, recorder, copies):
        await migrator.silos.create(tenant)
        counter = UnitCounter(recorder)
        caller = replace(copies.table.caller, client=counter)
        counted = replace(copies, table=replace(copies.table, caller=caller))
        for process in (counted.copy, counted.compare, counted.clear, counted.compare_back):
            counter.units = 0.0
            results = await asyncio.gather(*(process(page) for page in pages))
            assert sum(result.units for result in results) == counter.units > 0
