"""What was exported is imported as it was, each line once, and what cannot be is named."""

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
from tests.data.bulk_lines import CUS, HISTORY, LINES, PRD
from tests.data.full_tenant import SMALL, FullTenant, activity_counts, content, export_all, import_all, stored_items
from tests.stack import ServiceStack


@pytest.fixture
async def table(stack: ServiceStack, tenant: TenantId) -> Table:
    return stack.table(tenant)


async def sold(table: Table) -> list[tuple[str, int]]:
    return [(one.id, one.total) for one in await SalesRepository(table).top(f"{timestamps.utc_now():%Y-%m}", first=9)]


async def test_an_export_imported_into_an_empty_tenant_is_the_same_in_every_item(
    stack: ServiceStack, table: Table
) -> None:
    source, other = await stack.new_tenant(), await stack.new_tenant()
    await FullTenant.on(stack.table(source)).fill()
    given = await export_all(stack.table(source, writes=False))
    tally = await import_all(stack.table(other), given)
    assert dict(tally.written) == {"customer": 2, "category": 3, "product": 2, "order": 9}
    assert await export_all(stack.table(other, writes=False)) == given
    one, same = stored_items(stack, other, source)
    assert one == same
    assert await sold(stack.table(other)) == await sold(stack.table(source)) != []
    assert await export_all(table) == b"", "a neighbour has none of it"


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
class Counted(Pacer):
    """Lets everything pass, and counts it."""

    passed: float = 0

    async def wait(self, items: float) -> None:
        self.passed += items


async def test_every_item_counts_towards_the_rate(stack: ServiceStack, table: Table) -> None:
    rate = Counted()
    await Importer(
        RecordWriter(replace(table, activity_log=new_activity_log("import")), rate), load_domains().record_kinds
    ).run(BytesIO(content()))
    sent = [call.parameters for call in stack.take_calls() if call.operation == "TransactWriteItems"]
    assert rate.passed == sum(len(call["TransactItems"]) for call in sent[-len(SMALL) :])


DIFFERING: dict[str, tuple[dict[str, Any], str]] = {
    "customer": ({"name": "Bea"}, "name"),
    "category": ({"createdAt": "2026-11-03T00:00:00Z"}, "createdAt"),
    "product": ({"version": 2}, "version"),
    "order": ({"events": [*HISTORY[:2], {**HISTORY[2], "note": "odd!"}, HISTORY[3]]}, "events[2].note"),
}


@pytest.mark.parametrize("kind", DIFFERING)
async def test_a_line_that_differs_from_what_is_there_is_refused_by_its_field(table: Table, kind: str) -> None:
    await import_all(table, content())
    before = await export_all(table)
    changes, field = DIFFERING[kind]
    with pytest.raises(BadLines) as refusal:
        await import_all(table, content(*SMALL.values(), {**SMALL[kind], **changes}))
    (problem,) = refusal.value.errors
    assert (problem.line, problem.field) == (5, field)
    assert f"has this {kind} already" in problem.message
    assert await export_all(table) == before


STRANGE: dict[str, tuple[list[Any], str]] = {
    "an unknown customer": ([SMALL["category"], SMALL["product"], SMALL["order"]], "customerId"),
    "an unknown product": ([SMALL["customer"], SMALL["order"]], "items[0].productId"),
    "an unknown category": ([SMALL["product"]], "category"),
    "an unknown parent": ([LINES["category"]], "path"),
    "a sku that another has": (
        [SMALL["category"], SMALL["product"], {**SMALL["product"], "id": PRD[:-1] + "Z"}],
        "sku",
    ),
}


@pytest.mark.parametrize("name", STRANGE)
async def test_what_only_the_table_can_tell_is_named_and_leaves_nothing_of_its_line(table: Table, name: str) -> None:
    lines, field = STRANGE[name]
    with pytest.raises(BadLines) as refusal:
        await import_all(table, content(*lines))
    (problem,) = refusal.value.errors
    assert (problem.line, problem.field) == (len(lines), field)
    assert len((await export_all(table)).splitlines()) == len(lines) - 1


async def test_a_bad_line_does_not_keep_those_beside_it_from_being_written(table: Table) -> None:
    orphan = {**SMALL["order"], "id": SMALL["order"]["id"][:-1] + "Z", "customerId": CUS[:-1] + "Z"}
    with pytest.raises(BadLines) as refusal:
        await import_all(table, content(*list(SMALL.values())[:3], orphan, SMALL["order"]))
    assert [(one.line, one.field) for one in refusal.value.errors] == [(4, "customerId")]
    assert len((await export_all(table)).splitlines()) == len(SMALL)


async def test_orders_whose_time_in_the_bin_is_over_are_left_out(table: Table) -> None:
    gone = {**SMALL["order"], "deletedAt": "2026-01-01T00:00:00Z"}
    tally = await import_all(table, content(*list(SMALL.values())[:3], gone))
    assert (tally.expired, tally.written["order"]) == ({"order": 1}, 0)
    assert len((await export_all(table)).splitlines()) == 3


async def test_two_imports_at_once_write_each_line_once(stack: ServiceStack, table: Table) -> None:
    many = [{**SMALL["order"], "id": f"{SMALL['order']['id'][:-2]}{at:02}"} for at in range(20)]
    given = content(*list(SMALL.values())[:3], *many)
    one, other = await asyncio.gather(import_all(table, given), import_all(table, given))
    assert one.written + other.written == {"customer": 1, "category": 1, "product": 1, "order": 20}
    assert (await activity_counts(table))["order.imported"] == 20


@pytest.mark.full("large tenants")
@pytest.mark.one_engine
async def test_a_few_hundred_orders_come_back_in_equal_bytes(engine_url: str, issuer: DevelopmentIssuer) -> None:
    stack = ServiceStack.start(engine_url, "bulk-of-hundreds", issuer)
    await load_demo(stack.tables, lambda _: None)
    given = await export_all(stack.table(parse_tenant_id("acme"), writes=False))
    other = stack.table(await stack.new_tenant())
    assert (await import_all(other, given)).written["order"] >= 200
    assert await export_all(other) == given
    stack.close()
