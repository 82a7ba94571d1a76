"""A record that does not fit into one transaction is imported completely, and is not visible before."""

from io import BytesIO
from typing import Any

import orjson
import pytest

from keyfence.bulk.json_lines import BadLines
from keyfence.domains.orders import bulk
from keyfence.domains.orders.repository import OrderDetails, OrderRepository, checked_order_id
from keyfence.domains.sales.monthly_sales import SalesRepository
from keyfence.errors import Internal
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.tenant import TenantId
from tests.data.bulk_lines import CREATED_AT, HISTORY, PRODUCT_ID, event, line_with, parsed_record
from tests.data.full_tenant import SMALL, content, export_all, import_all
from tests.stack import ServiceStack
from tests.system.bulk.test_bulk_faults import importer_without_retries

pytestmark = pytest.mark.one_engine
"""The tests write thousands of items, which takes ten times as long on moto."""


def product_lines() -> list[dict[str, Any]]:
    """Returns 90 products, the first one with 150 revisions."""
    lines = [{**SMALL["product"], "id": f"{PRODUCT_ID[:-2]}{number:02}", "sku": f"S{number}"} for number in range(90)]
    lines[0]["revisions"] = [
        {"name": "Pen", "price": f"{price}.10", "by": "clerk", "at": CREATED_AT} for price in range(150, 0, -1)
    ]
    return lines


def order_line(**last_event: str) -> dict[str, Any]:
    """Returns a confirmed order with 90 items and 252 events. `last_event` changes fields of the last event."""
    flags = [{**event(1, kind="flagged"), "id": f"evt_01K9Z5Q3V8H6W2M4N7P1R5T{number:03}"} for number in range(250)]
    items = [
        {**SMALL["order"]["items"][0], "productId": product["id"], "sku": product["sku"]} for product in product_lines()
    ]
    events = [*HISTORY[:2], *flags[:-1], {**flags[-1], **last_event}]
    return line_with("order", version=None, total=None, status="CONFIRMED", items=items, events=events)


REFERENCED_LINES = [SMALL["customer"], SMALL["category"], *product_lines()]


async def test_a_record_that_does_not_fit_into_one_transaction_is_imported_completely(
    stack: ServiceStack, tenant: TenantId
) -> None:
    table, other = stack.table(tenant), stack.table(await stack.new_tenant())
    await import_all(table, content(*REFERENCED_LINES, order_line()))
    exported = await export_all(table)
    assert orjson.loads(exported.splitlines()[-1]) == bulk.RECORD_KIND.to_line(parsed_record(order_line()))
    assert len(await SalesRepository(table).top("2026-11", first=100)) == 90
    await import_all(other, exported)
    assert await export_all(other) == exported


async def test_a_partly_written_order_is_invisible_until_the_next_import(stack: ServiceStack, tenant: TenantId) -> None:
    table, id = stack.table(tenant), checked_order_id(order_line()["id"])
    await import_all(table, content(*REFERENCED_LINES))
    stack.gate.faults = [Fault(kind="error", operation="TransactWriteItems", key_prefix=f"TENANT#{tenant}#CUST#")]
    with pytest.raises(Internal):
        await importer_without_retries(table).run(BytesIO(content(order_line())))
    stack.gate.faults = ()
    assert await OrderDetails(table).history(id), "the events of the order are stored"
    assert await OrderRepository(table, "somebody").find_with_items(id) is None
    assert len((await export_all(table)).splitlines()) == len(REFERENCED_LINES)
    with pytest.raises(BadLines, match="the table has parts of this record that differ from the line"):
        await import_all(table, content(order_line(note="another")))
    await import_all(table, content(order_line()))
    assert len(await OrderDetails(table).history(id)) == 252
    assert {sales.total for sales in await SalesRepository(table).top("2026-11", first=100)} == {3}
