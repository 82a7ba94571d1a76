"""A tenant is moved to a table of its own and back while many clients read and write."""

import asyncio
import itertools

import pytest

from keyfence.tenancy.placement import Placement
from tests.stack import ServiceStack
from tests.system.jobs.concurrent_load import AGES, GRACE, PAGES, ConcurrentLoad
from tests.system.jobs.move_run import connect_mover, items_in_both_tables, tenant_with_users

LONGEST_CALL = 1.0


@pytest.mark.full("live traffic; test_moving.py stands for it")
@pytest.mark.one_engine
async def test_no_item_is_lost_or_listed_twice_while_a_busy_tenant_is_moved_and_moved_back(stack: ServiceStack) -> None:
    tenant = await tenant_with_users(stack, "busy", 5)
    bustle = ConcurrentLoad.over(stack, tenant)
    bustle.acknowledged = set(await bustle.final())
    bustle.numbers = itertools.count(100)
    settings = {"tenant_cache_seconds": max(AGES), "tenant_use_seconds": GRACE, "read_timeout_seconds": LONGEST_CALL}
    with connect_mover(stack, **settings) as mover:
        async with bustle.going_on():
            for to in (Placement.SILO, Placement.POOL):
                await mover.move(tenant, to, sleep=asyncio.sleep)
    assert bustle.wrong == []
    assert len(bustle.acknowledged) > 50
    assert set(bustle.walks) == set(PAGES)
    await asyncio.sleep(max(AGES))
    final = await bustle.final()
    assert len(final) == len(set(final))
    assert bustle.acknowledged <= set(final)
    assert set(final) <= bustle.acknowledged | bustle.begun
    assert not items_in_both_tables(stack, tenant)[1]
