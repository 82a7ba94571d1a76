"""Where a tenant's items are is known for as long as the registry promises, and kept fresh for who works longer."""

import asyncio
from collections.abc import Callable

import pytest

from keyfence.settings import TENANT_USE_SECONDS as GRACE
from keyfence.store.shards import ShardCounts, ShardMap
from keyfence.tenancy.tenant_cache import refreshed_location
from keyfence.tenancy.tenant_status import TenantStatus
from tests.service.tenancy.test_registry import ACME, Shelf, tenant

WIDE = {"users": ShardCounts(read_shards=8)}


async def test_a_home_lasts_as_long_as_what_was_read_may_be_believed_and_a_request_may_take() -> None:
    shelf = Shelf({ACME: tenant(shards=WIDE)})
    registry = shelf.registry(max_age_seconds=5.0)
    await registry.get_active(ACME)
    shelf.now = 3.0
    home = registry.location(await registry.get_active(ACME))
    assert (home.tenant, home.shards, home.valid_until) == (ACME, ShardMap(WIDE), 5.0 + GRACE)


async def test_the_home_of_a_tenant_that_is_not_remembered_is_taken_for_as_old_as_can_be() -> None:
    shelf = Shelf(now=100.0)
    assert shelf.registry(max_age_seconds=5.0).location(tenant()).valid_until == 100.0 + GRACE


async def test_a_home_is_kept_fresh_in_place_until_the_tenant_cannot_be_read() -> None:
    shelf = Shelf({ACME: tenant()})
    registry = shelf.registry(max_age_seconds=0.02)
    async with refreshed_location(registry, ACME) as home:
        before = home.valid_until
        shelf.kept[ACME] = tenant(version=2, shards=WIDE)
        shelf.now = 1.0
        await _until(lambda: home.shards == ShardMap(WIDE))
        assert home.valid_until > before
        shelf.kept[ACME] = tenant(version=3, status=TenantStatus.SUSPENDED)
        shelf.now, reads, last = 2.0, shelf.reads, home.valid_until
        await _until(lambda: shelf.reads > reads)
        await asyncio.sleep(0.02)
        assert home.valid_until == last
    reads = shelf.reads
    shelf.now = 3.0
    await asyncio.sleep(0.05)
    assert shelf.reads == reads, "nobody keeps it fresh any more"


async def test_there_is_no_home_for_a_tenant_that_is_not_served() -> None:
    shelf = Shelf({ACME: tenant(status=TenantStatus.SUSPENDED)})
    with pytest.raises(Exception, match="suspended"):
        async with refreshed_location(shelf.registry(), ACME):
            raise AssertionError("it was let in")


async def _until(met: Callable[[], bool]) -> None:
    for _ in range(1000):
        if met():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never happened")
