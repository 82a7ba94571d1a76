"""A re-key run removes index keys that belong to another tenant, and follows a change of the index key."""

from dataclasses import replace
from typing import Any

import pytest

from keyfence.domains.users.access_patterns import newest_users
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.store.codec import Item
from keyfence.store.index_tags import IndexTags
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.fences import tenant_fence
from tests.isolation.poisoned_index import cost_of_users, poison_users
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import START, all_items, items_of, put_items
from tests.system.jobs.rekey_run import job_resources, rekeyed, right_items, user, users_of

COUNT = 30


def readable_and_unreadable(attacker: TenantId, victim: TenantId) -> list[Item]:
    """Returns users of the attacker with index keys of the victim. The first can be read, the others cannot."""
    foreign = {"GSI2PK": {"S": f"{tenant_fence(victim).index_prefix}USERS#00"}, "GSI2SK": {"S": "~"}}
    readable, without_email, with_text_version, elsewhere = [{**item, **foreign} for item in right_items(attacker, 4)]
    del without_email["email"]
    return [
        readable,
        without_email,
        {**with_text_version, "version": {"S": "1"}},
        {**elsewhere, "PK": {"S": f"{elsewhere['PK']['S']}-elsewhere"}},
    ]


def foreign_index_keys(stack: ServiceStack, tenant: TenantId) -> list[str]:
    keys = [item[name]["S"] for item in items_of(all_items(stack), tenant) for name in item if name.endswith("PK")]
    return [key for key in keys if not tenant_fence(tenant).contains(key)]


@pytest.mark.parametrize("status", [TenantStatus.ACTIVE, TenantStatus.SUSPENDED])
async def test_a_rekey_of_the_owner_removes_its_items_from_the_lists_of_others(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId, status: TenantStatus
) -> None:
    attacker = await stack.new_tenant()
    put_items(stack, right_items(tenant, 3))
    cost_before = await cost_of_users(stack.table(tenant, may_write=False))
    poison_users(stack, attacker, str(tenant_fence(tenant).index_prefix), COUNT)
    put_items(stack, readable_and_unreadable(attacker, tenant))
    await TenantRepository(stack.tables.for_control_plane(may_write=True), "the-tests").change(
        attacker, TenantEventKind.RENAMED, lambda before: replace(before, status=status, name="Attacker"), detail={}
    )
    assert len(foreign_index_keys(stack, attacker)) == COUNT + 4
    untouched = users_of(stack, tenant)
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START)), attacker)
    assert foreign_index_keys(stack, attacker) == []
    assert ended.items_changed == COUNT + 4
    assert len(items_of(all_items(stack), attacker)) == COUNT + 4, "no item is deleted"
    assert users_of(stack, tenant) == untouched
    assert await cost_of_users(stack.table(tenant, may_write=False)) == cost_before


@pytest.mark.one_engine
async def test_unreadable_items_keep_index_keys_of_their_own_tenant(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    own: list[Any] = [{**item, "type": {"S": "Unheard"}} for item in right_items(tenant, 2)]
    put_items(stack, own)
    ended = await rekeyed(migrator, job_resources(migrator, ManualClock.at(START)), tenant)
    assert (ended.items_changed, ended.counts) == (0, {"unknown": 2})
    assert items_of(all_items(stack), tenant) == own


@pytest.mark.one_engine
async def test_after_a_change_of_the_index_key_a_rekey_makes_the_lists_complete_again(
    stack: ServiceStack, migrator: MigratorAccess, tenant: TenantId
) -> None:
    put_items(stack, right_items(tenant, COUNT))
    new_tags = IndexTags(b"n" * 32)
    table = replace(stack.table(tenant), fence=replace(stack.tables, index_tags=new_tags).fence_of(tenant))
    assert (await table.page(newest_users, first=50)).items == ()
    new_migrator = replace(migrator, tables=replace(migrator.tables, index_tags=new_tags))
    ended = await rekeyed(new_migrator, job_resources(new_migrator, ManualClock.at(START)), tenant)
    assert ended.items_changed == COUNT
    listed = (await table.page(newest_users, first=50)).items
    assert {one.id for one in listed} == {user(number).id for number in range(COUNT)}
