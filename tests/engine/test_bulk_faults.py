"""An import that is struck, or dies, ends as if nothing had happened once it is run again."""

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import pytest

from keyfence.app.domains import load_domains
from keyfence.bulk.importer import Importer
from keyfence.bulk.record_kind import RecordWriter
from keyfence.domains.activity.activity_log import activity_log
from keyfence.errors import KeyfenceError
from keyfence.store.dynamodb.flow_control import RetryPolicy
from keyfence.store.table import Table
from keyfence_iam.gate.faults import Fault, FaultKind
from keyfence_iam.tenant import TenantId
from tests.data.full_tenant import SMALL, FullTenant, activity_counts, content, export_all, import_all, stored_items
from tests.stack import World

pytestmark = pytest.mark.one_engine
"""It is the gate that strikes, before the engine or after it."""

KINDS: list[FaultKind] = ["lost_response", "lost_request", "throttle", "error"]
LINES = content(*SMALL.values(), *({**SMALL["order"], "id": f"{SMALL['order']['id'][:-1]}{at}"} for at in range(2)))
WRITES = 6


@pytest.fixture(autouse=True)
def _faultless(world: World) -> Iterator[None]:
    yield
    world.gate.faults = ()


def hasty(table: Table) -> Importer:
    """An import that dies of the first call that fails."""
    once = replace(table.caller, retry_policy=RetryPolicy(attempts=1))
    writer = RecordWriter(replace(table, caller=once, activity_log=activity_log("import")))
    return Importer(writer, load_domains().record_kinds)


async def dies(importer: Importer, given: bytes) -> bool:
    try:
        await importer.run(BytesIO(given))
    except KeyfenceError:
        return True
    return False


async def same(world: World, *tenants: TenantId) -> None:
    world.gate.faults = ()
    first, *others = stored_items(world, *tenants)
    assert first
    assert all(other == first for other in others)
    notes = [await activity_counts(world.table(tenant)) for tenant in tenants]
    assert all(note == notes[0] for note in notes)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_import_that_dies_at_any_write_is_completed_by_the_next(
    world: World, tenant: TenantId, kind: FaultKind
) -> None:
    await import_all(world.table(tenant), LINES)
    tenants = [await world.new_tenant() for _ in range(WRITES)]
    for nth, struck in enumerate(tenants, start=1):
        world.gate.faults = [Fault(kind=kind, operation="TransactWriteItems", nth=nth)]
        assert await dies(hasty(world.table(struck)), LINES)
        world.gate.faults = ()
        assert not await dies(hasty(world.table(struck)), LINES)
    await same(world, tenant, *tenants)


async def test_there_is_no_further_write_to_die_at(world: World, tenant: TenantId) -> None:
    world.gate.faults = [Fault(kind="error", operation="TransactWriteItems", nth=WRITES + 1)]
    assert not await dies(hasty(world.table(tenant)), LINES)


async def test_an_import_that_dies_again_and_again_loses_nothing_and_does_nothing_twice(
    world: World, tenant: TenantId
) -> None:
    """Of every write the answer is lost, and with it the process."""
    source, struck = await world.new_tenant(), await world.new_tenant()
    await FullTenant.on(world.table(source)).fill()
    given, deaths = await export_all(world.table(source)), 0
    await import_all(world.table(tenant), given)
    world.gate.faults = [Fault(kind="lost_response", operation="TransactWriteItems", nth=1)]
    while await dies(hasty(world.table(struck)), given):
        deaths += 1
        assert deaths < 50
        world.gate.faults = world.gate.faults
    assert deaths > 5
    await same(world, struck, tenant)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_import_struck_at_every_other_call_goes_on_by_itself(
    world: World, tenant: TenantId, kind: FaultKind
) -> None:
    struck = await world.new_tenant()
    await import_all(world.table(tenant), LINES)
    world.gate.faults = [Fault(kind=kind, every=2)]
    await import_all(world.table(struck), LINES)
    await same(world, struck, tenant)
