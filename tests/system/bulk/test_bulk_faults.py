"""An import that failed can be run again. Then the tenant is the same as after an import without faults."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import orjson
import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import Importer
from keyfence.bulk.record_kind import RecordWriter
from keyfence.domains.activity.activity_log import new_activity_log
from keyfence.errors import KeyfenceError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.table import Table
from keyfence_iam.gate.fault_definition import Fault, FaultKind
from keyfence_iam.tenant import TenantId
from tests.data.full_tenant import SMALL, FullTenant, activity_counts, content, export_all, import_all, stored_items
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine
"""The gate injects the faults, so the choice of the engine does not matter."""

KINDS: list[FaultKind] = ["lost_response", "lost_request", "throttle", "error"]
LINES = content(
    *SMALL.values(), *({**SMALL["order"], "id": f"{SMALL['order']['id'][:-1]}{number}"} for number in range(2))
)
WRITE_COUNT = 6
"""Transactions in an import of LINES."""


@pytest.fixture(autouse=True)
def _remove_faults(stack: ServiceStack) -> Iterator[None]:
    yield
    stack.gate.faults = ()


def importer_without_retries(table: Table) -> Importer:
    """Returns an importer that fails at the first call that fails."""
    caller = replace(table.caller, retry_policy=RetryPolicy(attempts=1))
    writer = RecordWriter(replace(table, caller=caller, activity_log=new_activity_log("import")))
    return Importer(writer, load_domains().record_kinds)


async def fails(importer: Importer, lines: bytes) -> bool:
    try:
        await importer.run(BytesIO(lines))
    except KeyfenceError:
        return True
    return False


async def assert_equal_tenants(stack: ServiceStack, *tenants: TenantId) -> None:
    """Compares the items of the tenants, and their activity logs by the number of entries of each kind."""
    stack.gate.faults = ()
    first, *others = stored_items(stack, *tenants)
    assert first
    assert all(other == first for other in others)
    first_activity, *other_activity = [await activity_counts(stack.table(tenant)) for tenant in tenants]
    assert all(activity == first_activity for activity in other_activity)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_import_that_fails_at_any_write_is_completed_by_the_next_import(
    stack: ServiceStack, tenant: TenantId, kind: FaultKind
) -> None:
    await import_all(stack.table(tenant), LINES)
    tenants = [await stack.new_tenant() for _ in range(WRITE_COUNT)]
    for nth, faulty_tenant in enumerate(tenants, start=1):
        stack.gate.faults = [Fault(kind=kind, operation="TransactWriteItems", nth=nth)]
        assert await fails(importer_without_retries(stack.table(faulty_tenant)), LINES)
        stack.gate.faults = ()
        assert not await fails(importer_without_retries(stack.table(faulty_tenant)), LINES)
    await assert_equal_tenants(stack, tenant, *tenants)


async def test_an_import_makes_no_more_writes_than_the_fault_test_covers(stack: ServiceStack, tenant: TenantId) -> None:
    stack.gate.faults = [Fault(kind="error", operation="TransactWriteItems", nth=WRITE_COUNT + 1)]
    assert not await fails(importer_without_retries(stack.table(tenant)), LINES)


async def test_an_import_that_fails_again_and_again_loses_nothing_and_writes_nothing_twice(
    stack: ServiceStack, tenant: TenantId
) -> None:
    """In each run the first write succeeds, but its response is lost and the import fails. Other writes of its group
    may succeed, so the number of runs varies. But a run ends in the first group that is not complete."""
    source, faulty_tenant = await stack.new_tenant(), await stack.new_tenant()
    await FullTenant.on(stack.table(source)).fill()
    lines, failures = await export_all(stack.table(source)), 0
    await import_all(stack.table(tenant), lines)
    stack.gate.faults = [Fault(kind="lost_response", operation="TransactWriteItems", nth=1)]
    while await fails(importer_without_retries(stack.table(faulty_tenant)), lines):
        failures += 1
        assert failures < 50
        stack.gate.faults = stack.gate.faults  # counts the writes from the beginning again
    assert failures >= len({orjson.loads(line)["type"] for line in lines.splitlines()}) == 4
    await assert_equal_tenants(stack, faulty_tenant, tenant)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_import_succeeds_by_retries_if_every_second_call_fails(
    stack: ServiceStack, tenant: TenantId, kind: FaultKind
) -> None:
    faulty_tenant = await stack.new_tenant()
    await import_all(stack.table(tenant), LINES)
    stack.gate.faults = [Fault(kind=kind, every=2)]
    await import_all(stack.table(faulty_tenant), LINES)
    await assert_equal_tenants(stack, faulty_tenant, tenant)
