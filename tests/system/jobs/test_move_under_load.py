"""A tenant is moved to a table of its own and back while many clients read and write."""

import asyncio
import itertools

import pytest

from keyfence.tenancy.placement import Placement
from tests.stack import ServiceStack
from tests.system.jobs.concurrent_load import CACHE_SECONDS, PAGE_SIZES, USE_SECONDS, ConcurrentLoad
from tests.system.jobs.move_run import connect_mover, items_in_both_tables, tenant_with_users

LONGEST_CALL = 1.0


@pytest.mark.full("live traffic; test_dual_writes_of_a_move.py covers the same without load")
@pytest.mark.one_engine
async def test_no_item_is_lost_or_listed_twice_while_a_busy_tenant_is_moved_and_moved_back(stack: ServiceStack) -> None:
    tenant = await tenant_with_users(stack, "busy", 5)
    load = ConcurrentLoad.on_tenant(stack, tenant)
    load.acknowledged = set(await load.read_whole_list())
    load.numbers = itertools.count(100)
    settings = {
        "tenant_cache_seconds": max(CACHE_SECONDS),
        "tenant_use_seconds": USE_SECONDS,
        "read_timeout_seconds": LONGEST_CALL,
    }
    with connect_mover(stack, **settings) as mover:
        async with load.run_in_background():
            for to in (Placement.SILO, Placement.POOL):
                await mover.move(tenant, to, sleep=asyncio.sleep)
    assert load.errors == []
    assert len(load.acknowledged) > 50
    assert set(load.reads_by_page_size) == set(PAGE_SIZES)
    await asyncio.sleep(max(CACHE_SECONDS))
    final = await load.read_whole_list()
    assert len(final) == len(set(final))
    assert load.acknowledged <= set(final)
    assert set(final) <= load.acknowledged | load.attempted
    assert not items_in_both_tables(stack, tenant)[1]
