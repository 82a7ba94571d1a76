"""An import that is struck, or dies, ends as if nothing had happened once it is run again."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import Importer
from keyfence.bulk.record_kind import RecordWriter
from keyfence.domains.activity.activity_log import new_activity_log
from keyfence.errors import KeyfenceError
from keyfence.store.dynamodb.retry_policy import RetryPolicy
from keyfence.store.table import Table
from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.tenant import TenantId
from tests.data.full_tenant import SMALL, FullTenant, activity_counts, content, export_all, import_all, stored_items
from tests.stack import ServiceStack

pytestmark = pytest.mark.one_engine
"""It is the gate that strikes, before the engine or after it."""

KINDS: list[FaultKind] = ["lost_response", "lost_request", "throttle", "error"]
LINES = content(*SMALL.values(), *({**SMALL["order"], "id": f"{SMALL['order']['id'][:-1]}{at}"} for at in range(2)))
WRITES = 6


@pytest.fixture(autouse=True)
def _faultless(stack: ServiceStack) -> Iterator[None]:
    yield
    stack.gate.faults = ()


def hasty(table: Table) -> Importer:
    """An import that dies of the first call that fails."""
    once = replace(table.caller, retry_policy=RetryPolicy(attempts=1))
    writer = RecordWriter(replace(table, caller=once, activity_log=new_activity_log("import")))
    return Importer(writer, load_domains().record_kinds)


async def dies(importer: Importer, given: bytes) -> bool:
    try:
        await importer.run(BytesIO(given))
    except KeyfenceError:
        return True
    return False


async def same(stack: ServiceStack, *tenants: TenantId) -> None:
    stack.gate.faults = ()
    first, *others = stored_items(stack, *tenants)
    assert first
    assert all(other == first for other in others)
    notes = [await activity_counts(stack.table(tenant)) for tenant in tenants]
    assert all(note == notes[0] for note in notes)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_import_that_dies_at_any_write_is_completed_by_the_next(
    stack: ServiceStack, tenant: TenantId, kind: FaultKind
) -> None:
    await import_all(stack.table(tenant), LINES)
    tenants = [await stack.new_tenant() for _ in range(WRITES)]
    for nth, struck in enumerate(tenants, start=1):
        stack.gate.faults = [Fault(kind=kind, operation="TransactWriteItems", nth=nth)]
        assert await dies(hasty(stack.table(struck)), LINES)
        stack.gate.faults = ()
        assert not await dies(hasty(stack.table(struck)), LINES)
    await same(stack, tenant, *tenants)


async def test_there_is_no_further_write_to_die_at(stack: ServiceStack, tenant: TenantId) -> None:
    stack.gate.faults = [Fault(kind="error", operation="TransactWriteItems", nth=WRITES + 1)]
    assert not await dies(hasty(stack.table(tenant)), LINES)


async def test_an_import_that_dies_again_and_again_loses_nothing_and_does_nothing_twice(
    stack: ServiceStack, tenant: TenantId
) -> None:
    """Of every write the answer is lost, and with it the process."""
    source, struck = await stack.new_tenant(), await stack.new_tenant()
    await FullTenant.on(stack.table(source)).fill()
    given, deaths = await export_all(stack.table(source)), 0
    await import_all(stack.table(tenant), given)
    stack.gate.faults = [Fault(kind="lost_response", operation="TransactWriteItems", nth=1)]
    while await dies(hasty(stack.table(struck)), given):
        deaths += 1
        assert deaths < 50
        stack.gate.faults = stack.gate.faults
    assert deaths > 5
    await same(stack, struck, tenant)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_import_struck_at_every_other_call_goes_on_by_itself(
    stack: ServiceStack, tenant: TenantId, kind: FaultKind
) -> None:
    struck = await stack.new_tenant()
    await import_all(stack.table(tenant), LINES)
    stack.gate.faults = [Fault(kind=kind, every=2)]
    await import_all(stack.table(struck), LINES)
    await same(stack, struck, tenant)
