"""A demo tenant's journal is there to be read, newest first."""

import pytest

from keyfence.local.demo.load import write_shop
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS
from keyfence.store import timestamps
from keyfence_iam.tenant import TenantId
from tests.stack import World

JOURNAL = "{ activity(first: 100) { edges { node { id kind target by } } } }"


@pytest.mark.one_engine
async def test_a_stocked_shop_has_a_journal(world: World, tenant: TenantId) -> None:
    trade = ShopData(TENANTS["globex"], timestamps.utc_now())
    await write_shop(world.table(tenant), trade)
    shown = [edge["node"] for edge in (await world.session(tenant).ask(JOURNAL))["activity"]["edges"]]
    told = sorted(trade.journal(), key=lambda one: one.created_at, reverse=True)
    assert told
    assert [(one["id"], one["kind"], one["target"], one["by"]) for one in shown] == [
        (one.id, one.kind, one.target, one.by) for one in told
    ]
