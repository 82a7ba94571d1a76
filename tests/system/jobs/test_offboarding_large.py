"""A tenant with many items is offboarded, 10,000 in the full tier, and items of another tenant stay."""

from pathlib import Path

import pytest

from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard.certificate import compare_export, verify_certificate
from tests import tier
from tests.fakes.clock import ManualClock
from tests.stack import RecordingClient, ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    START,
    all_items,
    fill,
    items_of,
    offboard,
    offboarder,
    with_client,
)

COUNT = tier.size(default=500, full=10_000)


@pytest.mark.one_engine
async def test_a_tenant_with_many_items_is_offboarded(
    stack: ServiceStack, migrator: MigratorAccess, tmp_path: Path
) -> None:
    tenant, neighbour = await stack.new_tenant("large"), await stack.new_tenant("large1")
    fill(stack, tenant, COUNT, indexed=COUNT // 20)
    fill(stack, neighbour, COUNT // 10, indexed=COUNT // 100)
    before = items_of(all_items(stack), neighbour)
    recorder = RecordingClient(migrator.tables.client)
    worker = offboarder(with_client(migrator, recorder), tmp_path, ManualClock.at(START), page_size=COUNT // 10)
    job = await offboard(worker, tenant)
    assert (job.exported_count, job.purged_count, job.round) == (COUNT, COUNT, 2)
    compare_export(verify_certificate(job.certificate or "", KEY.verifier), tmp_path / job.export_name)
    scanned = all_items(stack)
    assert items_of(scanned, tenant) == []
    assert items_of(scanned, neighbour) == before
    assert "the word of large " not in repr(scanned)
    calls = [call.operation for call in recorder.calls]
    assert calls.count("BatchWriteItem") == COUNT / 25
