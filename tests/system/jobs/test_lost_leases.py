"""A worker of a reshard or a move that lost its lease has no more effect: another worker may already have the job."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Throttled
from keyfence.jobs.job_programs import program_for
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import JobProgram, JobResources, JobRun, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.read_differences import ReadDifferences
from keyfence.jobs.reshard.reshard_phases import FINISHED_EVENTS, ReshardKind
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack
from tests.system.jobs.move_run import MoveRun, connect_mover, items_in_both_tables, tenant_with_users, without_waiting
from tests.system.jobs.reshard_run import ReshardRun, items_of

pytestmark = pytest.mark.one_engine

COUNT = 4


async def run_until_lease_is_lost(
    resources: JobResources, job: Job, program: JobProgram, failpoint: str
) -> Throttled | None:
    """Runs a job whose worker loses its lease at the failpoints whose names start with `failpoint`.

    Returns the error that ended the run, or None if the job was finished."""
    runs = list[JobRun]()

    async def program_of_known_run(run: JobRun) -> None:
        runs.append(run)
        await program(run)

    def lose_lease(name: str) -> None:
        if name.startswith(failpoint):
            runs[0].lease.renew_from(-inf)

    try:
        await run_job(replace(resources, failpoint=lose_lease), job.id, program_of_known_run)
    except Throttled as error:
        return error
    return None


def is_lease_lost(error: Throttled | None) -> bool:
    return error is not None and "another worker may have taken over" in error.message


@pytest.mark.parametrize(
    ("kind", "shards"), [(ReshardKind.GROW, 8), (ReshardKind.SHRINK, 2), (ReshardKind.REBALANCE, 4)]
)
async def test_only_the_worker_with_the_lease_publishes_new_shard_counts(
    tenant: TenantId, migrator: MigratorAccess, kind: ReshardKind, shards: int
) -> None:
    first, second = ReshardRun(migrator=migrator), ReshardRun(migrator=migrator)
    await first.reshard(tenant, "users", 4)
    await first.time.sleep(1)
    event = FINISHED_EVENTS[kind]
    published_before = await _count_events(first, tenant, event)
    job = await first.begin(tenant, "users", shards, rebalance=kind is ReshardKind.REBALANCE)
    before = await first.counts(tenant, "users")
    error = await run_until_lease_is_lost(first.job_resources(), job, first.program, "before publishing")
    assert await first.counts(tenant, "users") == before
    assert is_lease_lost(error)
    assert (await second.run(job)).phase == "FINISHED"
    after = await second.counts(tenant, "users")
    assert (after.read_shards, after.write_shards, after.job_id) == (shards, shards, None)
    assert await _count_events(second, tenant, event) == published_before + 1


async def _count_events(resharder: ReshardRun, tenant: TenantId, kind: str) -> int:
    events = await resharder.tenants.events(tenant, first=50, after=None)
    return sum(event.kind == kind for event in events.items)


async def test_only_the_worker_with_the_lease_moves_items_to_other_shards(
    stack: ServiceStack, tenant: TenantId, migrator: MigratorAccess
) -> None:
    resharder = ReshardRun(migrator=migrator)
    await resharder.reshard(tenant, "users", 8)
    users = UserRepository(await resharder.table(stack, tenant))
    for number in range(COUNT):
        await users.create(email=f"{number}@x.example", name="A", role=Role.MEMBER)
    job = await resharder.begin(tenant, "users", 1)
    before = items_of(stack, tenant)
    error = await run_until_lease_is_lost(resharder.job_resources(), job, resharder.program, "before MOVING")
    assert items_of(stack, tenant) == before
    assert is_lease_lost(error)
    assert (await resharder.run(job)).items_changed > 0


@pytest.fixture
def mover(stack: ServiceStack) -> Iterator[MoveRun]:
    with connect_mover(stack) as access:
        yield access


async def run_move_until_lease_is_lost(mover: MoveRun, job: Job, failpoint: str) -> Throttled | None:
    resources = replace(mover.migrator.job_resources(units_per_second=100_000.0), sleep=without_waiting)
    return await run_until_lease_is_lost(resources, job, program_for(job, mover.migrator), failpoint)


async def test_only_the_worker_with_the_lease_changes_which_table_serves_a_tenant(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await tenant_with_users(stack, "lost-before-switch", COUNT)
    job = await mover.begin(tenant, Placement.SILO)
    error = await run_move_until_lease_is_lost(mover, job, "before tenant.move_switched")
    move = (await mover.get(tenant)).move
    assert (move and move.phase) is MovePhase.SHADOW
    assert is_lease_lost(error)
    await mover.run(job)
    assert (await mover.get(tenant)).placement is Placement.SILO


async def test_only_the_worker_with_the_lease_copies_items(stack: ServiceStack, mover: MoveRun) -> None:
    tenant = await tenant_with_users(stack, "lost-before-copy", COUNT)
    before = items_in_both_tables(stack, tenant)[0]
    job = await mover.begin(tenant, Placement.SILO)
    error = await run_move_until_lease_is_lost(mover, job, "before COPYING")
    assert items_in_both_tables(stack, tenant) == (before, {})
    assert is_lease_lost(error)
    await mover.run(job)
    assert items_in_both_tables(stack, tenant) == ({}, before)


async def test_only_the_worker_with_the_lease_forgets_the_differences_that_servers_reported(
    stack: ServiceStack, mover: MoveRun
) -> None:
    """Otherwise the next worker could switch to a table from which a server has read other items."""
    tenant = await tenant_with_users(stack, "lost-before-shadow", COUNT)
    job = await mover.begin(tenant, Placement.SILO)
    differences = ReadDifferences(mover.migrator.control)
    await differences.add(job.id)
    error = await run_move_until_lease_is_lost(mover, job, "saved COMPARING-BACK")
    assert await differences.count(job.id) == 1
    assert is_lease_lost(error)


@pytest.mark.parametrize("target", Placement)
async def test_only_the_worker_with_the_lease_deletes_the_old_copy(
    stack: ServiceStack, mover: MoveRun, target: Placement
) -> None:
    tenant = await tenant_with_users(stack, f"lost-before-clear-{target.lower()}", COUNT)
    if target is Placement.POOL:
        await mover.move(tenant, Placement.SILO)
    job = await mover.begin(tenant, target)
    failpoint = "settled CLEARING" if target is Placement.POOL else "before CLEARING"
    error = await run_move_until_lease_is_lost(mover, job, failpoint)
    in_pool, in_silo = items_in_both_tables(stack, tenant)
    assert in_pool == in_silo != {}
    assert is_lease_lost(error)
    await mover.run(job)
    assert items_in_both_tables(stack, tenant) == ((in_pool, {}) if target is Placement.POOL else ({}, in_silo))
