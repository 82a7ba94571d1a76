"""A tenant is moved to a table of its own and back while it is served, and no item is lost."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Conflict
from keyfence.jobs.job_programs import program_for
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import run_job
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence.tenancy.tenant_cache import location_of
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash
from tests.stack import ServiceStack
from tests.system.jobs.move_run import MoveRun, connect_mover, items_in_both_tables, tenant_with_users
from tests.system.jobs.reshard_run import SETTLE


@pytest.fixture
def mover(stack: ServiceStack) -> Iterator[MoveRun]:
    with connect_mover(stack) as access:
        yield access


async def emails(stack: ServiceStack, mover: MoveRun, tenant: TenantId) -> list[str]:
    table = stack.tables.for_tenant(location_of(await mover.get(tenant)), may_write=False)
    return [user.email for user in (await UserRepository(table).newest(first=100, after=None)).items]


async def test_a_tenant_is_moved_and_moved_back_with_all_items_and_no_item_of_a_neighbour(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant, neighbour = await tenant_with_users(stack, "moving"), await tenant_with_users(stack, "moving-1")
    before, others = items_in_both_tables(stack, tenant)[0], items_in_both_tables(stack, neighbour)
    listed = await emails(stack, mover, tenant)
    gone = await mover.move(tenant, Placement.SILO)
    assert items_in_both_tables(stack, tenant) == ({}, before)
    assert (gone.phase, gone.items_changed, gone.items_total) == ("FINISHED", len(before), len(before))
    found = await mover.get(tenant)
    assert (found.placement, found.move) == (Placement.SILO, None)
    assert await emails(stack, mover, tenant) == listed
    back = await mover.move(tenant, Placement.POOL)
    assert items_in_both_tables(stack, tenant) == (before, {})
    assert back.items_changed == len(before)
    assert await emails(stack, mover, tenant) == listed
    assert items_in_both_tables(stack, neighbour) == others
    kinds = [one.node.kind for one in (await mover.tenants.events(tenant, first=50, after=None)).edges]
    assert kinds[:6] == [
        "tenant.moved",
        "tenant.move_clearing",
        "tenant.move_switched",
        "tenant.move_shadow_read",
        "tenant.move_backfill",
        "tenant.move_dual_write",
    ]


@pytest.mark.one_engine
async def test_a_cursor_from_before_the_move_continues_after_the_move(stack: ServiceStack, mover: MoveRun) -> None:
    tenant = await tenant_with_users(stack, "cursors")
    listed = await emails(stack, mover, tenant)
    first = await UserRepository(stack.table(tenant, may_write=False)).newest(first=5, after=None)
    await mover.move(tenant, Placement.SILO)
    table = stack.tables.for_tenant(location_of(await mover.get(tenant)), may_write=False)
    rest = await UserRepository(table).newest(first=50, after=first.edges[-1].cursor())
    assert [user.email for user in (*first.items, *rest.items)] == listed


@pytest.mark.one_engine
async def test_a_move_to_the_same_placement_or_of_an_inactive_tenant_is_refused(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await tenant_with_users(stack, "stays", 1)
    with pytest.raises(Conflict, match="already"):
        await mover.begin(tenant, Placement.POOL)
    first = await mover.begin(tenant, Placement.SILO)
    assert (await mover.begin(tenant, Placement.SILO)).id == first.id


@pytest.mark.one_engine
@pytest.mark.parametrize(
    "at",
    tier.cases(
        [phase for phase in MovePhase if phase is not MovePhase.CLEARING],
        default=[MovePhase.SHADOW],
        reason="every phase of a move",
    ),
)
async def test_a_move_can_be_cancelled_until_the_old_copy_is_deleted(
    stack: ServiceStack, mover: MoveRun, at: MovePhase
) -> None:
    tenant = await tenant_with_users(stack, f"back-{at.lower()}")
    before = items_in_both_tables(stack, tenant)[0]
    job = await mover.begin(tenant, Placement.SILO)
    event = {MovePhase.PLAN: "before tenant.move_dual_write", MovePhase.DUAL: "after tenant.move_dual_write"}
    event |= {MovePhase.BACKFILL: "after tenant.move_backfill", MovePhase.SHADOW: "after tenant.move_shadow_read"}
    event |= {MovePhase.SWITCHED: "after tenant.move_switched"}
    await _run_until(mover, job, event[at])
    move = (await mover.get(tenant)).move
    assert move
    assert move.phase is at
    assert (await mover.begin(tenant, Placement.POOL)).id == job.id
    await mover.run(job)
    found = await mover.get(tenant)
    assert (found.placement, found.move) == (Placement.POOL, None)
    assert items_in_both_tables(stack, tenant) == (before, {})


@pytest.mark.one_engine
async def test_a_move_whose_old_copy_is_being_deleted_cannot_be_cancelled(stack: ServiceStack, mover: MoveRun) -> None:
    tenant = await tenant_with_users(stack, "arrived")
    job = await mover.begin(tenant, Placement.SILO)
    await _run_until(mover, job, "after tenant.move_clearing")
    with pytest.raises(Conflict, match="has already arrived"):
        await mover.begin(tenant, Placement.POOL)
    await mover.run(job)
    assert (await mover.get(tenant)).placement is Placement.SILO


async def _run_until(mover: MoveRun, job: Job, where: str) -> None:
    def failpoint(name: str) -> None:
        if name == where:
            raise Crash

    with pytest.raises(Crash):
        await mover.run(job, failpoint=failpoint)


@pytest.mark.full("a crash at every step")
@pytest.mark.one_engine
async def test_a_move_is_completed_after_a_crash_at_any_failpoint(stack: ServiceStack, mover: MoveRun) -> None:
    seams = list[str]()
    tenant = await tenant_with_users(stack, "torn-count")
    await mover.run(await mover.begin(tenant, Placement.SILO), failpoint=seams.append)
    assert len(seams) > 20
    for number, to in enumerate((Placement.SILO, Placement.POOL)):
        moved_tenant = await tenant_with_users(stack, f"torn-{number}")
        before = items_in_both_tables(stack, moved_tenant)[0]
        if to is Placement.POOL:
            await mover.move(moved_tenant, Placement.SILO)
        job, deaths, left = await mover.begin(moved_tenant, to), 0, iter(range(10_000))
        died = True
        while died:
            died = await _crashes_at(mover, job, next(left))
            deaths += died
        assert deaths > 15
        assert items_in_both_tables(stack, moved_tenant) == (({}, before) if to is Placement.SILO else (before, {}))
        assert (await mover.get(moved_tenant)).move is None


async def _crashes_at(mover: MoveRun, job: Job, nth: int) -> bool:
    """Runs the job until a failpoint at which it crashes. Returns False if it ended without a crash."""
    passed = list[str]()

    def failpoint(name: str) -> None:
        passed.append(name)
        if len(passed) > 1 + nth % 7:
            raise Crash

    try:
        await mover.run(job, failpoint=failpoint)
    except Crash:
        return True
    return False


@pytest.mark.one_engine
@pytest.mark.parametrize("to", Placement)
async def test_each_phase_of_a_move_waits_for_the_settle_time(
    stack: ServiceStack, mover: MoveRun, to: Placement
) -> None:
    tenant = await tenant_with_users(stack, f"waits-{to.lower()}", 3)
    if to is Placement.POOL:
        await mover.move(tenant, Placement.SILO)
    at = dict(await _timed_failpoints(mover, await mover.begin(tenant, to)))
    steps = ["tenant.move_dual_write", "tenant.move_backfill", "tenant.move_switched", "tenant.move_clearing"]
    waited = [at[f"after {name}"] for name in steps]
    assert [after - before for before, after in itertools.pairwise(waited)] == [SETTLE] * 3
    assert at["cleared"] - waited[-1] == SETTLE


@pytest.mark.one_engine
async def test_each_step_of_a_cancelled_move_waits_for_the_settle_time(stack: ServiceStack, mover: MoveRun) -> None:
    tenant = await tenant_with_users(stack, "waits-back", 3)
    job = await mover.begin(tenant, Placement.SILO)
    await _run_until(mover, job, "after tenant.move_switched")
    await mover.begin(tenant, Placement.POOL)
    events = await _timed_failpoints(mover, job)
    steps = [after for name, after in events if name == "after tenant.move_rolled_back"]
    assert steps == [SETTLE, 2 * SETTLE, 3 * SETTLE]
    assert dict(events)["cleared"] == 3 * SETTLE


async def _timed_failpoints(mover: MoveRun, job: Job) -> list[tuple[str, float]]:
    """Returns each failpoint that the job passed, with the seconds that it had waited until then."""
    slept, events = 0.0, list[tuple[str, float]]()

    async def sleep(seconds: float) -> None:
        nonlocal slept
        slept += seconds

    job_resources = replace(
        mover.migrator.job_resources(units_per_second=1e6),
        failpoint=lambda name: events.append((name, slept)),
        sleep=sleep,
    )
    await run_job(job_resources, job.id, program_for(job, mover.migrator))
    return events


@pytest.mark.one_engine
async def test_a_server_with_an_expired_location_cannot_write_to_the_old_table_after_a_move(
    stack: ServiceStack, mover: MoveRun
) -> None:
    """Without the check, the server would write to a table that no server reads any more."""
    tenant = await tenant_with_users(stack, "stale", 1)
    await mover.move(tenant, Placement.SILO)
    stale = stack.tables.for_tenant(TenantLocation(tenant=tenant, valid_until=0.0), may_write=True)
    with pytest.raises(Exception, match="items may be elsewhere"):
        await UserRepository(stale).create(email="late@x.example", name="A", role=Role.MEMBER)
    assert items_in_both_tables(stack, tenant)[0] == {}
