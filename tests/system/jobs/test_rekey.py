"""A re-key run corrects the index keys that differ from the declared ones, and changes no other."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from keyfence.domains.users.access_patterns import newest_users, user_by_id, users
from keyfence.errors import Conflict, Forbidden
from keyfence.jobs.job_programs import rekey_program
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.rekey.rekey_job import new_rekey_job
from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.job_writes import update_index_keys
from keyfence.store.shards import ShardMap
from keyfence.store.writes import update_model
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash
from tests.fakes.clock import ManualClock
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import (
    OPERATOR,
    START,
    CrashingProcess,
    delete_items,
    put_items,
    with_client,
)
from tests.system.jobs.rekey_run import fill_unkeyed, job_resources, rekeyed, right_items, user, users_of, without_keys

COUNT = 30


async def test_items_without_index_keys_get_them_and_items_of_a_neighbour_stay_unchanged(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    neighbour = await stack.new_tenant(f"{tenant}corp")
    right = fill_unkeyed(stack, tenant, COUNT)
    fill_unkeyed(stack, neighbour, 5)
    untouched = users_of(stack, neighbour)
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START), page_size=10), tenant)
    assert users_of(stack, tenant) == right
    assert users_of(stack, neighbour) == untouched
    assert (ended.phase, ended.items_changed, ended.round, ended.counts) == ("FINISHED", COUNT, 1, {})
    listed = await stack.table(tenant).page(newest_users, first=50)
    assert len(listed.items) == COUNT
    again = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START), page_size=10), tenant)
    assert (again.items_changed, again.items_total) == (0, 0)


async def test_a_dry_run_counts_wrong_items_and_changes_none(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    fill_unkeyed(stack, tenant, COUNT)
    before = users_of(stack, tenant)
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START)), tenant, dry_run=True)
    assert (ended.counts, ended.items_changed, ended.phase) == ({"wrong": COUNT}, 0, "FINISHED")
    assert users_of(stack, tenant) == before


@pytest.mark.one_engine
async def test_items_that_cannot_be_read_are_counted_and_not_changed(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    one, two, three, four, fine = without_keys(right_items(tenant, 5))
    strange: list[Item] = [
        {**one, "type": {"S": "Unheard"}},
        {name: value for name, value in two.items() if name != "email"},
        {**three, "PK": {"S": three["PK"]["S"] + "-elsewhere"}},
        {name: value for name, value in four.items() if name != "type"},
    ]
    put_items(stack, [*strange, fine])
    (nobodys,) = without_keys(right_items(TenantId(f"{tenant}-gone"), 1))
    put_items(stack, [nobodys])
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START)), None)
    assert ended.counts == {"unknown": 2, "unreadable": 2, "ownerless": 1}
    kept = [item for item in users_of(stack, tenant) if "GSI1PK" not in item]
    assert len(kept) == 2, "of those that still say that they are users"
    stack.engine_client().delete_item(TableName=stack.settings.table, Key={"PK": nobodys["PK"], "SK": nobodys["SK"]})


@pytest.mark.one_engine
async def test_items_of_other_types_than_the_requested_one_are_not_changed(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    fill_unkeyed(stack, tenant, 3)
    before = users_of(stack, tenant)
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START)), tenant, type="Group")
    assert (ended.items_changed, users_of(stack, tenant)) == (0, before)


@pytest.mark.one_engine
async def test_an_item_keeps_its_shard_and_a_missing_key_gets_the_shard_of_a_new_item(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    eight = even_shards({"users": 8})
    right, old = right_items(tenant, 20, eight), right_items(tenant, 20)
    put_items(stack, [*old[:10], *without_keys(right[10:])])

    async def location(asked: TenantId) -> Any:
        found = await rekey_program(migrator).location(asked)
        return replace(found, shards=eight) if asked == tenant else found

    resources = job_resources(migrator, ManualClock.at(START))
    job = await resources.store.add(new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR))
    ended = await run_job(resources, job.id, replace(rekey_program(migrator), location=location))
    assert ended.items_changed == 10
    assert users_of(stack, tenant) == [*old[:10], *right[10:]]
    assert len({item["GSI2PK"]["S"] for item in right[10:]}) > 2


@pytest.mark.one_engine
async def test_a_key_uses_the_shard_counts_at_the_time_of_the_write_and_not_of_the_read(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    eight, asked = even_shards({"users": 8}), 0
    right = right_items(tenant, COUNT, eight)
    put_items(stack, without_keys(right))

    async def location(whose: TenantId) -> Any:
        nonlocal asked
        asked += whose == tenant
        found = await rekey_program(migrator).location(whose)
        return replace(found, shards=eight) if asked > COUNT else found

    resources = job_resources(migrator, ManualClock.at(START), page_size=5_000)
    job = await resources.store.add(new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR, segments=1))
    await run_job(resources, job.id, replace(rekey_program(migrator), location=location))
    assert users_of(stack, tenant) == right


@pytest.mark.one_engine
async def test_keys_that_should_not_exist_are_removed_and_wrong_keys_are_corrected(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    alive, wrong, outside = right_items(tenant, 3)
    gone = users.to_item(
        replace(user(9), deleted_at=user(9).created_at), migrator.table_in_pool(tenant).fence, ShardMap()
    )
    left_over = {**gone, **{name: alive[name] for name in ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")}}
    unread = {**outside, "GSI2PK": {"S": outside["GSI2PK"]["S"][:-2] + "7f"}}
    put_items(stack, [alive, {**wrong, "GSI1SK": {"S": "USERS"}, "GSI3PK": wrong["PK"]}, unread, left_over])
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START)), tenant)
    assert (ended.items_changed, users_of(stack, tenant)) == (3, [alive, wrong, outside, gone])


async def test_no_key_outside_the_fence_is_written(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    (item,) = right_items(tenant, 1)
    put_items(stack, [item])
    for keys in ({"GSI1PK": "TENANT#other#X"}, {"GSI2PK": f"TENANT#{tenant}x#USERS#00"}):
        with pytest.raises(Forbidden):
            await update_index_keys(migrator.table_in_pool(tenant), item, keys)
    with pytest.raises(Forbidden):
        await update_index_keys(migrator.table_in_pool(await stack.new_tenant()), item, {"GSI1PK": None})
    assert users_of(stack, tenant) == [item]


class ConcurrentWriter:
    """Changes each item once, right before the migrator changes it."""

    def __init__(self, client: DynamoDb, stack: ServiceStack, tenant: TenantId) -> None:
        self.client, self.table = client, stack.table(tenant)
        self.met: set[str] = set()

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        if operation == "UpdateItem":
            id = parameters["Key"]["PK"]["S"].rpartition("#")[2]
            if id not in self.met:
                self.met.add(id)
                await self.revise(id)
        return await self.client.call(operation, parameters, credentials)

    async def revise(self, id: str) -> None:
        before = await self.table.find(user_by_id, id=id)
        assert before
        after = replace(before, email=f"new-{before.email}", version=before.version + 1)
        await self.table.write(update_model(users, before, after))

    def close(self) -> None: ...


@pytest.mark.one_engine
async def test_writes_that_are_made_meanwhile_are_not_lost(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    fill_unkeyed(stack, tenant, COUNT)
    resources = job_resources(
        with_client(migrator, ConcurrentWriter(migrator.tables.client, stack, tenant)),
        ManualClock.at(START),
        page_size=10,
    )
    job = await resources.store.add(new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR))
    contended_migrator = with_client(migrator, ConcurrentWriter(migrator.tables.client, stack, tenant))
    ended = await run_job(resources, job.id, rekey_program(contended_migrator))
    fence = migrator.table_in_pool(tenant).fence
    expected = [
        users.to_item(replace(one, email=f"new-{one.email}", version=2), fence, ShardMap())
        for one in (user(number) for number in range(COUNT))
    ]
    assert users_of(stack, tenant) == expected
    assert (ended.round, ended.items_changed) == (2, COUNT)


class ConcurrentDeleter(ConcurrentWriter):
    """Deletes each user right before the migrator sets its keys. Only the version shows that it was deleted."""

    async def revise(self, id: str) -> None:
        before = await self.table.find(user_by_id, id=id)
        assert before
        after = replace(before, deleted_at=before.created_at, version=before.version + 1)
        await self.table.write(update_model(users, before, after))


@pytest.mark.one_engine
async def test_a_user_that_is_deleted_meanwhile_gets_no_keys(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    fill_unkeyed(stack, tenant, 5)
    resources, contended_migrator = (
        job_resources(migrator, ManualClock.at(START)),
        with_client(migrator, ConcurrentDeleter(migrator.tables.client, stack, tenant)),
    )
    job = await resources.store.add(new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR))
    ended = await run_job(resources, job.id, rekey_program(contended_migrator))
    assert (ended.round, ended.items_changed) == (1, 0)
    assert not any("GSI1PK" in item for item in users_of(stack, tenant))


@pytest.mark.one_engine
async def test_a_rekey_run_is_completed_after_a_crash_at_any_call_or_failpoint(
    stack: ServiceStack, migrator: MigratorAccess
) -> None:
    """The next worker changes only items that are still wrong, so no item is changed twice."""
    places: set[str] = set()
    for at in range(0, 1_000, tier.size(default=9, full=3)):
        tenant, time = await stack.new_tenant(f"torn-{at}"), ManualClock.at(START)
        right = fill_unkeyed(stack, tenant, 9)
        process = CrashingProcess(migrator.tables.client, at)
        crashing_migrator = with_client(migrator, process)
        healthy = job_resources(migrator, time, page_size=500)
        job = await healthy.store.add(
            new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR, segments=2, now=time.datetime)
        )
        with suppress(Crash):
            await run_job(
                job_resources(crashing_migrator, time, page_size=500, failpoint=process.place),
                job.id,
                rekey_program(crashing_migrator),
            )
        if process.crashed:
            places.add(process.places[-1])
            await time.sleep(61)
        ended = await run_job(healthy, job.id, rekey_program(migrator))
        assert users_of(stack, tenant) == right
        assert (ended.phase, ended.worker, ended.round) == ("FINISHED", None, 1)
        if not process.crashed:
            assert ended.items_changed == 9
            break
        delete_items(stack)
    assert {"asking UpdateItem", "answered UpdateItem"} & places
    assert any(place.startswith(("before", "processed", "saved")) for place in places)


@pytest.mark.one_engine
async def test_two_commands_for_the_same_job_do_not_run_it_at_the_same_time(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    right = fill_unkeyed(stack, tenant, COUNT)
    resources = job_resources(migrator, ManualClock.at(START), page_size=5)
    job = await resources.store.add(new_rekey_job(tenant, migrator.tables.entities, created_by=OPERATOR))
    other = job_resources(migrator, ManualClock.at(START), page_size=5)
    both = await asyncio.gather(
        run_job(resources, job.id, rekey_program(migrator)),
        run_job(other, job.id, rekey_program(migrator)),
        return_exceptions=True,
    )
    assert sorted(isinstance(one, Conflict) for one in both) == [False, True]
    assert users_of(stack, tenant) == right
