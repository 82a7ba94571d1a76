"""What does not fit into a transaction is imported whole all the same, and is not seen before it is."""

from io import BytesIO
from typing import Any

import orjson
import pytest

from keyfence.bulk.json_lines import BadLines
from keyfence.domains.orders import bulk
from keyfence.domains.orders.repository import OrderDetails, OrderRepository, checked_order_id
from keyfence.domains.sales.monthly_sales import SalesRepository
from keyfence.errors import Internal
from keyfence_iam.gate.faults import Fault
from keyfence_iam.tenant import TenantId
from tests.data.bulk_lines import AT, HISTORY, PRD, changed, event, record
from tests.data.full_tenant import SMALL, content, export_all, import_all
from tests.stack import ServiceStack
from tests.system.bulk.test_bulk_faults import hasty

pytestmark = pytest.mark.one_engine
"""Thousands of items, at a tenth of what they cost on moto."""


def wares() -> list[dict[str, Any]]:
    """Ninety products, the first of which has had 150 prices."""
    made = [{**SMALL["product"], "id": f"{PRD[:-2]}{at:02}", "sku": f"S{at}"} for at in range(90)]
    made[0]["revisions"] = [{"name": "Pen", "price": f"{at}.10", "by": "clerk", "at": AT} for at in range(150, 0, -1)]
    return made


def order(**last: str) -> dict[str, Any]:
    """Of ninety items, all of them sold, with a history of 252 events."""
    flags = [{**event(1, kind="flagged"), "id": f"evt_01K9Z5Q3V8H6W2M4N7P1R5T{at:03}"} for at in range(250)]
    items = [{**SMALL["order"]["items"][0], "productId": ware["id"], "sku": ware["sku"]} for ware in wares()]
    events = [*HISTORY[:2], *flags[:-1], {**flags[-1], **last}]
    return changed("order", version=None, total=None, status="CONFIRMED", items=items, events=events)


BEFORE = [SMALL["customer"], SMALL["category"], *wares()]


async def test_what_does_not_fit_into_a_transaction_comes_back_whole(stack: ServiceStack, tenant: TenantId) -> None:
    table, other = stack.table(tenant), stack.table(await stack.new_tenant())
    await import_all(table, content(*BEFORE, order()))
    out = await export_all(table)
    assert orjson.loads(out.splitlines()[-1]) == bulk.RECORD_KIND.to_line(record(order()))
    assert len(await SalesRepository(table).top("2026-11", first=100)) == 90
    await import_all(other, out)
    assert await export_all(other) == out


async def test_an_order_that_was_half_written_is_not_there_until_the_next_import(
    stack: ServiceStack, tenant: TenantId
) -> None:
    table, id = stack.table(tenant), checked_order_id(order()["id"])
    await import_all(table, content(*BEFORE))
    stack.gate.faults = [Fault(kind="error", operation="TransactWriteItems", key_prefix=f"TENANT#{tenant}#CUST#")]
    with pytest.raises(Internal):
        await hasty(table).run(BytesIO(content(order())))
    stack.gate.faults = ()
    assert await OrderDetails(table).history(id), "its parts are there"
    assert await OrderRepository(table, "somebody").find_with_items(id) is None
    assert len((await export_all(table)).splitlines()) == len(BEFORE)
    with pytest.raises(BadLines, match="the table has parts of this record that differ from the line"):
        await import_all(table, content(order(note="another")))
    await import_all(table, content(order()))
    assert len(await OrderDetails(table).history(id)) == 252
    assert {one.total for one in await SalesRepository(table).top("2026-11", first=100)} == {3}
