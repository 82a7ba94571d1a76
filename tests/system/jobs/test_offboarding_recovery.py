"""An offboarding continues after a stop, with another worker, and with a damaged export file."""

import asyncio
import time as clock
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from keyfence.errors import Conflict
from keyfence.jobs.job_runner import WAIT_STEP_SECONDS
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.offboard import export_pass
from keyfence.jobs.offboard.certificate import compare_export, verify_certificate
from keyfence.jobs.offboard.export_file import ExportDamaged, ExportFile
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, OffboardingState
from keyfence.store.codec import Item
from keyfence.store.job_writes import delete_items
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import (
    KEY,
    Offboarder,
    all_items,
    begin,
    exported_items,
    fill,
    items_of,
    offboard,
    offboarder,
    run_until,
)

ISSUER = "https://id.leaving.example"


async def test_a_second_worker_gets_a_conflict_with_the_end_of_the_lease(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 2)
    worker = offboarder(migrator, tmp_path, time)
    await begin(worker, tenant)
    first = worker.store()
    job = await first.save(before := await worker.job(tenant), replace(before, worker=first.worker))
    with pytest.raises(Conflict) as refusal:
        await worker.run(tenant)
    assert refusal.value.extensions["until"] == "2026-11-16T08:01:00+00:00"
    await time.sleep(61)
    assert (await worker.run(tenant)).phase is OffboardingPhase.FINISHED
    with pytest.raises(Conflict, match="taken over"):
        await first.save(job, job)


async def test_a_worker_that_lost_its_lease_does_not_release_the_lease_of_the_next_worker(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    worker = offboarder(migrator, tmp_path, time)
    await begin(worker, tenant)
    other = worker.store()

    async def long(_: float) -> None:
        await time.sleep(61)
        await other.save(before := await worker.job(tenant), replace(before, worker=other.worker))

    with pytest.raises(Conflict, match="taken over"):
        await worker.run(tenant, sleep=long)
    assert (await worker.job(tenant)).worker == other.worker


async def test_a_worker_that_is_asked_to_stop_releases_its_lease(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 10)
    worker = offboarder(migrator, tmp_path, time, page_size=3)
    await begin(worker, tenant)
    seen: list[OffboardingState] = []
    wait_steps = ceil(migrator.settle_time.total_seconds() / WAIT_STEP_SECONDS)
    while not seen or seen[-1].phase is not OffboardingPhase.FINISHED:
        checks = iter([False] * (1 + wait_steps))  # enough for the wait, which starts again in every run
        seen.append(await worker.run(tenant, should_stop=partial(next, checks, True)))
    assert len(seen) > 3
    assert (seen[-1].exported_count, seen[-1].purged_count) == (10, 10)


async def cancel_run(worker: Offboarder, tenant: TenantId, reached: asyncio.Event) -> OffboardingState:
    """Cancels the worker's task when the event is set, and returns the state that the worker has saved."""
    work = asyncio.ensure_future(worker.run(tenant))
    await asyncio.wait_for(reached.wait(), timeout=30)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    return await worker.state(tenant)


@pytest.mark.one_engine
async def test_a_cancelled_worker_saves_how_many_items_it_has_purged(
    stack: ServiceStack,
    migrator: MigratorAccess,
    time: ManualClock,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(stack, tenant, 10)
    worker, deleted = offboarder(migrator, tmp_path, time, page_size=3), asyncio.Event()

    async def slow_delete(table: Table, keys: Sequence[Item]) -> float:
        units = await delete_items(table, keys)
        deleted.set()
        await asyncio.sleep(0.05)
        return units

    monkeypatch.setattr(export_pass, "delete_items", slow_delete)
    await begin(worker, tenant)
    state = await cancel_run(worker, tenant, deleted)
    remaining = len(items_of(all_items(stack), tenant))
    assert (state.phase, state.purged_count, remaining) == (OffboardingPhase.PURGING, 3, 7)
    assert (await worker.job(tenant)).worker is None
    done = await worker.run(tenant)
    assert (done.phase, done.exported_count, done.purged_count) == (OffboardingPhase.FINISHED, 10, 10)


@pytest.mark.one_engine
async def test_a_cancelled_worker_writes_nothing_to_the_export_after_the_end_of_its_run(
    stack: ServiceStack,
    migrator: MigratorAccess,
    time: ManualClock,
    tmp_path: Path,
    tenant: TenantId,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file is written in a thread, which cannot be cancelled. The next worker may already have opened the file."""
    fill(stack, tenant, 10)
    worker, started = offboarder(migrator, tmp_path, time, page_size=3), asyncio.Event()
    append, loop, running_appends = ExportFile.append, asyncio.get_running_loop(), 0

    def slow_append(file: ExportFile, size: int, lines: bytes) -> int:
        nonlocal running_appends
        running_appends += 1
        loop.call_soon_threadsafe(started.set)
        clock.sleep(0.05)
        written_size = append(file, size, lines)
        running_appends -= 1
        return written_size

    monkeypatch.setattr(ExportFile, "append", slow_append)
    await begin(worker, tenant)
    state = await cancel_run(worker, tenant, started)
    assert running_appends == 0
    assert (tmp_path / state.export_name).stat().st_size == state.export_size > 0
    done = await worker.run(tenant)
    assert (done.phase, done.exported_count, done.purged_count) == (OffboardingPhase.FINISHED, 10, 10)


@pytest.mark.parametrize("phase", [OffboardingPhase.EXPORTING, OffboardingPhase.VERIFYING_EXPORT])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x" * 5000)])
async def test_an_export_that_is_damaged_before_the_first_purge_is_written_again(
    stack: ServiceStack,
    migrator: MigratorAccess,
    time: ManualClock,
    tmp_path: Path,
    tenant: TenantId,
    phase: OffboardingPhase,
    damage: Any,
) -> None:
    fill(stack, tenant, 40)
    worker = offboarder(migrator, tmp_path, time, page_size=30)
    job = await run_until(worker, tenant, phase)
    damage(tmp_path / job.export_name)
    done = await worker.run(tenant)
    assert (done.exported_count, done.purged_count, len(exported_items(tmp_path, done))) == (40, 40, 40)
    compare_export(verify_certificate(done.certificate or "", KEY.verifier), tmp_path / done.export_name)


async def test_a_second_damage_in_one_run_stops_the_job(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 5)
    tries: list[str] = []

    def damage(name: str) -> None:
        if name == f"before {OffboardingPhase.VERIFYING_EXPORT}":
            tries.append(name)
            (path,) = tmp_path.glob("*.gz")
            path.write_bytes(path.read_bytes()[:-1] if len(tries) < 5 else path.read_bytes())

    with pytest.raises(ExportDamaged):
        await offboard(offboarder(migrator, tmp_path, time, failpoint=damage), tenant)
    assert len(tries) == 2
    assert len(items_of(all_items(stack), tenant)) == 5


async def test_an_export_that_is_damaged_after_a_purge_stops_the_job_until_the_file_is_restored(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 40)
    worker = offboarder(migrator, tmp_path, time, page_size=30)
    job = await run_until(worker, tenant, OffboardingPhase.PURGING)
    path = tmp_path / job.export_name
    whole = path.read_bytes()
    for bad in (b"", whole[:-9], whole[:60] + bytes([whole[60] ^ 1]) + whole[61:]):
        path.write_bytes(bad)
        with pytest.raises(ExportDamaged):
            await worker.run(tenant)
        assert len(items_of(all_items(stack), tenant)) == 40 - job.purged_count, "nothing more is purged"
    path.write_bytes(whole)
    done = await worker.run(tenant)
    assert (done.exported_count, done.purged_count, done.round) == (40, 40, 2)


async def test_a_worker_without_the_export_file_starts_again_or_stops_and_loses_no_item(
    stack: ServiceStack, migrator: MigratorAccess, time: ManualClock, tmp_path: Path, tenant: TenantId
) -> None:
    fill(stack, tenant, 40)
    here, there = (
        offboarder(migrator, tmp_path / "here", time, page_size=30),
        offboarder(migrator, tmp_path / "there", time, page_size=30),
    )
    await run_until(here, tenant, OffboardingPhase.EXPORTING)
    job = await run_until(there, tenant, OffboardingPhase.PURGING)
    assert str(job.export_uri).startswith((tmp_path / "there").as_uri())
    with pytest.raises(ExportDamaged):
        await here.run(tenant)
    assert (await there.run(tenant)).exported_count == 40
