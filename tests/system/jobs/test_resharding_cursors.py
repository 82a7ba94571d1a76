"""A cursor continues through every change of shards, and is bound to one tenant, one list and its arguments."""

from typing import Any

import pytest

from keyfence.domains.customers.access_patterns import newest_customers
from keyfence.domains.orders.access_patterns import open_orders, orders_of_region
from keyfence.errors import BadInput
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.store.entity import Query
from keyfence.store.shards import ShardMap
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack
from tests.system.field_costs.large_tenant import LargeTenant
from tests.system.field_costs.large_tenant_orders import REGION
from tests.system.field_costs.measurement import fill
from tests.system.jobs.reshard_run import ReshardRun, listed

CHANGES = ((4, False), (4, True), (2, False), (2, True), (1, False))
EVEN = dict.fromkeys(("customers", "orders_by_region", "open_orders"), 4)


async def rest(table: Table, cursor: str) -> list[str]:
    page = await table.page(orders_of_region, first=100, after=cursor, region=REGION)
    return [one.id for one in page.items]


async def test_a_cursor_from_any_time_continues_at_any_later_time(
    stack: ServiceStack, tenant: TenantId, migrator: MigratorAccess
) -> None:
    large_tenant, resharder = LargeTenant.with_size(3), ReshardRun(migrator=migrator)
    await fill(stack, tenant, large_tenant)
    whole = [one.id for one in await listed(stack.table(tenant), large_tenant, "orders_by_region", 100)]
    cursors = dict[str, int]()
    for shards, rebalance in CHANGES:
        table = await resharder.table(stack, tenant)
        page = await table.page(orders_of_region, first=7, region=REGION)
        cursors |= {edge.cursor(): at for at, edge in enumerate(page.edges, start=1)}
        job = await resharder.begin(tenant, "orders_by_region", shards, rebalance=rebalance)
        await resharder.run_pages(job, page=50)
        moving = await resharder.table(stack, tenant)
        await resharder.run(job)
        for handle in (moving, await resharder.table(stack, tenant)):
            assert [await rest(handle, one) for one in cursors] == [whole[at:] for at in cursors.values()]
    assert len(cursors) == 7, "the same place has the same cursor in any number of slots"


async def test_a_cursor_of_another_tenant_list_or_argument_is_refused_with_any_number_of_shards(
    stack: ServiceStack,
) -> None:
    large_tenant = LargeTenant.with_size(3)
    acme, acmecorp = await stack.new_tenant("acme"), await stack.new_tenant("acmecorp")
    for one in (acme, acmecorp):
        await fill(stack, one, large_tenant)
    for shards in (ShardMap(), even_shards(EVEN)):
        table = stack.table(acme, shards=shards)
        page = await table.page(orders_of_region, first=2, region=REGION)
        cursor = page.edges[0].cursor()
        for handle in (table, stack.table(acme, shards=even_shards(EVEN))):
            assert await handle.page(orders_of_region, first=2, after=cursor, region=REGION)
            with pytest.raises(BadInput, match="does not belong to this list"):
                await handle.page(orders_of_region, first=2, after=cursor, region="ELSEWHERE")
            others: tuple[Query[Any], ...] = (newest_customers, open_orders)
            for pattern in others:
                with pytest.raises(BadInput, match="does not belong to this list"):
                    await handle.page(pattern, first=2, after=cursor)
        with pytest.raises(BadInput, match="does not belong to this list") as refused:
            await stack.table(acmecorp, shards=shards).page(orders_of_region, first=2, after=cursor, region=REGION)
        assert refused.value.code == "BAD_USER_INPUT"
