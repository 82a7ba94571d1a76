"""An import writes each record once and without loss. It reports the lines that cannot be imported."""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import Importer
from keyfence.bulk.json_lines import BadLines
from keyfence.bulk.record_kind import RecordWriter
from keyfence.domains.activity.activity_log import new_activity_log
from keyfence.domains.sales.monthly_sales import SalesRepository
from keyfence.local.demo.load import load_demo
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.store import timestamps
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId, parse_tenant_id
from tests.data.bulk_lines import CUSTOMER_ID, HISTORY, LINES, PRODUCT_ID
from tests.data.full_tenant import SMALL, FullTenant, activity_counts, content, export_all, import_all, stored_items
from tests.stack import ServiceStack


@pytest.fixture
async def table(stack: ServiceStack, tenant: TenantId) -> Table:
    return stack.table(tenant)


async def sales_of_this_month(table: Table) -> list[tuple[str, int]]:
    ranking = await SalesRepository(table).top(f"{timestamps.utc_now():%Y-%m}", first=9)
    return [(sales.id, sales.total) for sales in ranking]


async def test_importing_an_export_into_an_empty_tenant_creates_equal_items(stack: ServiceStack, table: Table) -> None:
    source, other = await stack.new_tenant(), await stack.new_tenant()
    await FullTenant.on(stack.table(source)).fill()
    exported = await export_all(stack.table(source, may_write=False))
    counts = await import_all(stack.table(other), exported)
    assert dict(counts.written) == {"customer": 2, "category": 3, "product": 2, "order": 9}
    assert await export_all(stack.table(other, may_write=False)) == exported
    imported_items, source_items = stored_items(stack, other, source)
    assert imported_items == source_items
    assert await sales_of_this_month(stack.table(other)) == await sales_of_this_month(stack.table(source)) != []
    assert await export_all(table) == b"", "a third tenant has none of the records"


async def test_the_same_import_again_finds_everything_and_writes_nothing(stack: ServiceStack, table: Table) -> None:
    first = await import_all(table, content())
    stack.take_calls()
    again = await import_all(table, content())
    assert (again.existing, again.written.total()) == (first.written, 0)
    assert "TransactWriteItems" not in {call.operation for call in stack.take_calls()}
    assert await activity_counts(table) == dict.fromkeys((f"{kind}.imported" for kind in SMALL), 1)


async def test_each_line_is_one_transaction(stack: ServiceStack, table: Table) -> None:
    stack.take_calls()
    await import_all(table, content())
    operations = Counter(call.operation for call in stack.take_calls())
    assert operations["TransactWriteItems"] == len(SMALL)


@dataclass(slots=True)
class CountingPacer(Pacer):
    """Never waits, but counts the items."""

    counted_items: float = 0

    async def wait(self, items: float) -> None:
        self.counted_items += items


async def test_every_item_counts_towards_the_rate(stack: ServiceStack, table: Table) -> None:
    pacer = CountingPacer()
    await Importer(
        RecordWriter(replace(table, activity_log=new_activity_log("import")), pacer), load_domains().record_kinds
    ).run(BytesIO(content()))
    sent = [call.parameters for call in stack.take_calls() if call.operation == "TransactWriteItems"]
    assert pacer.counted_items == sum(len(call["TransactItems"]) for call in sent[-len(SMALL) :])


DIFFERING_FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "customer": ({"name": "Bea"}, "name"),
    "category": ({"createdAt": "2026-11-03T00:00:00Z"}, "createdAt"),
    "product": ({"version": 2}, "version"),
    "order": ({"events": [*HISTORY[:2], {**HISTORY[2], "note": "odd!"}, HISTORY[3]]}, "events[2].note"),
}


@pytest.mark.parametrize("kind", DIFFERING_FIELDS)
async def test_a_line_that_differs_from_the_stored_record_is_an_error_that_names_the_field(
    table: Table, kind: str
) -> None:
    await import_all(table, content())
    before = await export_all(table)
    changes, field = DIFFERING_FIELDS[kind]
    with pytest.raises(BadLines) as refusal:
        await import_all(table, content(*SMALL.values(), {**SMALL[kind], **changes}))
    (error,) = refusal.value.errors
    assert (error.line, error.field) == (5, field)
    assert f"has this {kind} already" in error.message
    assert await export_all(table) == before


CONTRADICTIONS: dict[str, tuple[list[Any], str]] = {
    "an unknown customer": ([SMALL["category"], SMALL["product"], SMALL["order"]], "customerId"),
    "an unknown product": ([SMALL["customer"], SMALL["order"]], "items[0].productId"),
    "an unknown category": ([SMALL["product"]], "category"),
    "an unknown parent": ([LINES["category"]], "path"),
    "a sku of another product": (
        [SMALL["category"], SMALL["product"], {**SMALL["product"], "id": PRODUCT_ID[:-1] + "Z"}],
        "sku",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
async def test_a_line_that_contradicts_the_table_is_an_error_and_writes_nothing(table: Table, name: str) -> None:
    lines, field = CONTRADICTIONS[name]
    with pytest.raises(BadLines) as refusal:
        await import_all(table, content(*lines))
    (error,) = refusal.value.errors
    assert (error.line, error.field) == (len(lines), field)
    assert len((await export_all(table)).splitlines()) == len(lines) - 1


async def test_lines_beside_a_bad_line_are_written(table: Table) -> None:
    orphan = {**SMALL["order"], "id": SMALL["order"]["id"][:-1] + "Z", "customerId": CUSTOMER_ID[:-1] + "Z"}
    with pytest.raises(BadLines) as refusal:
        await import_all(table, content(*list(SMALL.values())[:3], orphan, SMALL["order"]))
    assert [(error.line, error.field) for error in refusal.value.errors] == [(4, "customerId")]
    assert len((await export_all(table)).splitlines()) == len(SMALL)


async def test_orders_that_have_expired_in_the_recycle_bin_are_left_out(table: Table) -> None:
    expired = {**SMALL["order"], "deletedAt": "2026-01-01T00:00:00Z"}
    counts = await import_all(table, content(*list(SMALL.values())[:3], expired))
    assert (counts.expired, counts.written["order"]) == ({"order": 1}, 0)
    assert len((await export_all(table)).splitlines()) == 3


async def test_two_concurrent_imports_write_each_line_once(stack: ServiceStack, table: Table) -> None:
    orders = [{**SMALL["order"], "id": f"{SMALL['order']['id'][:-2]}{number:02}"} for number in range(20)]
    lines = content(*list(SMALL.values())[:3], *orders)
    first, second = await asyncio.gather(import_all(table, lines), import_all(table, lines))
    assert first.written + second.written == {"customer": 1, "category": 1, "product": 1, "order": 20}
    assert (await activity_counts(table))["order.imported"] == 20


@pytest.mark.full("large tenants")
@pytest.mark.one_engine
async def test_a_few_hundred_orders_are_exported_in_the_same_bytes_after_an_import(
    engine_url: str, issuer: DevelopmentIssuer
) -> None:
    stack = ServiceStack.start(engine_url, "bulk-of-hundreds", issuer)
    await load_demo(stack.tables, lambda _: None)
    exported = await export_all(stack.table(parse_tenant_id("acme"), may_write=False))
    other = stack.table(await stack.new_tenant())
    assert (await import_all(other, exported)).written["order"] >= 200
    assert await export_all(other) == exported
    stack.close()
