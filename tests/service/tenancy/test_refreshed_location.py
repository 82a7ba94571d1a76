"""The location of a tenant is valid as long as the cached tenant may be used, and is refreshed during long work."""

import asyncio
from collections.abc import Callable

import pytest

from keyfence.settings import TENANT_USE_SECONDS
from keyfence.store.shards import ShardCounts, ShardMap
from keyfence.tenancy.tenant_cache import refreshed_location
from keyfence.tenancy.tenant_status import TenantStatus
from tests.service.tenancy.test_tenant_cache import ACME, FakeTenantTable, tenant

EIGHT_SHARDS = {"users": ShardCounts(read_shards=8)}


async def test_a_location_is_valid_for_the_maximum_age_of_its_tenant_and_the_time_of_a_request() -> None:
    table = FakeTenantTable({ACME: tenant(shards=EIGHT_SHARDS)})
    tenants = table.tenant_cache(max_age_seconds=5.0)
    await tenants.get_active(ACME)
    table.now = 3.0
    location = tenants.location(await tenants.get_active(ACME))
    assert (location.tenant, location.shards, location.valid_until) == (
        ACME,
        ShardMap(EIGHT_SHARDS),
        5.0 + TENANT_USE_SECONDS,
    )


async def test_the_location_of_a_tenant_that_is_not_cached_counts_as_old_as_allowed() -> None:
    table = FakeTenantTable(now=100.0)
    assert table.tenant_cache(max_age_seconds=5.0).location(tenant()).valid_until == 100.0 + TENANT_USE_SECONDS


async def test_a_location_is_refreshed_in_place_until_the_tenant_is_not_active() -> None:
    table = FakeTenantTable({ACME: tenant()})
    tenants = table.tenant_cache(max_age_seconds=0.02)
    async with refreshed_location(tenants, ACME) as location:
        before = location.valid_until
        table.stored[ACME] = tenant(version=2, shards=EIGHT_SHARDS)
        table.now = 1.0
        await _wait_until(lambda: location.shards == ShardMap(EIGHT_SHARDS))
        assert location.valid_until > before
        table.stored[ACME] = tenant(version=3, status=TenantStatus.SUSPENDED)
        table.now, reads, last = 2.0, table.reads, location.valid_until
        await _wait_until(lambda: table.reads > reads)
        await asyncio.sleep(0.02)
        assert location.valid_until == last
    reads = table.reads
    table.now = 3.0
    await asyncio.sleep(0.05)
    assert table.reads == reads, "the location is still refreshed"


async def test_a_suspended_tenant_gets_no_location() -> None:
    table = FakeTenantTable({ACME: tenant(status=TenantStatus.SUSPENDED)})
    with pytest.raises(Exception, match="suspended"):
        async with refreshed_location(table.tenant_cache(), ACME):
            raise AssertionError("the tenant got a location")


async def _wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the condition was never true")
