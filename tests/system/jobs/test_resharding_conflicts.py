"""Items that other writers change during a reshard are moved with these changes."""

import asyncio

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.model import UserId
from keyfence.domains.users.repository import UserRepository
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.reshard.reshard_phases import counts_of
from keyfence.store.shards import ShardMap
from keyfence.tenancy.tenant_cache import location_of
from tests.stack import ServiceStack
from tests.system.jobs.reshard_run import ReshardRun

pytestmark = pytest.mark.one_engine


async def test_an_item_that_changes_meanwhile_without_a_new_version_is_moved_without_an_error(
    stack: ServiceStack, migrator: MigratorAccess
) -> None:
    tenant, resharder = await stack.new_tenant("contended"), ReshardRun(migrator=migrator)
    await resharder.reshard(tenant, "users", 8)
    table = stack.table(tenant, shards=ShardMap((await resharder.tenants.get(tenant)).shards))
    ids = [
        (await UserRepository(table).create(email=f"{number}@x.example", name="A", role=Role.MEMBER)).id
        for number in range(12)
    ]
    begun = await resharder.begin(tenant, "users", 1)
    put, stopped = 0, False

    async def busy(id: UserId) -> None:
        nonlocal put
        while not stopped:
            await UserRepository(table).put_setting(id, f"setting-{put % 20}", put)
            put += 1

    others = asyncio.gather(*(busy(id) for id in ids[:3]))
    await resharder.run(begun, page_size=4)
    stopped = True
    await others
    tenant_now = await resharder.tenants.get(tenant)
    assert (counts_of(tenant_now, "users").read_shards, put > 3) == (1, True)
    listed = await UserRepository(stack.tables.for_tenant(location_of(tenant_now), may_write=True)).newest(
        first=50, after=None
    )
    assert sorted(user.id for user in listed.items) == sorted(ids)
