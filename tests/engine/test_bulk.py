"""What was exported is imported as it was, once, and whole."""

from iam.boundary import TenantId
from service.domains.sales.repository import Sales
from service.store import clock
from tests.engine.trade import Trade, exported, imported
from tests.world import World


async def test_an_export_imported_into_an_empty_tenant_exports_equal_bytes(world: World, tenant: TenantId) -> None:
    await Trade.on(world.table(tenant)).everything()
    content = await exported(world.table(tenant, writes=False))
    other = world.table(await world.new_tenant())
    tally = await imported(other, content)
    assert dict(tally.written) == {"customer": 2, "category": 3, "product": 2, "order": 9}
    assert await exported(other) == content
    again = await imported(other, content)
    assert (again.written.total(), again.found) == (0, tally.written)
    month = f"{clock.now():%Y-%m}"
    sold = [
        [(one.id, one.total) for one in await Sales(table).top(month, first=9)]
        for table in (world.table(tenant), other)
    ]
    assert sold[0] == sold[1]
    assert sold[0]
