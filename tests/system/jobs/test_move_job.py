"""A tenant that is served goes to a table of its own and comes back, and nobody loses anything."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Conflict
from keyfence.jobs.job_programs import program_for
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.move.shadow_differences import ShadowDifferences
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence.tenancy.tenant_cache import location_of
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.failures.crashing_client import Crash
from tests.stack import ServiceStack
from tests.system.jobs.move_run import MoveRun, moving_in, places, populated, without_waiting
from tests.system.jobs.reshard_run import SETTLE


@pytest.fixture
def mover(stack: ServiceStack) -> Iterator[MoveRun]:
    with moving_in(stack) as made:
        yield made


async def emails(stack: ServiceStack, mover: MoveRun, tenant: TenantId) -> list[str]:
    table = stack.tables.for_tenant(location_of(await mover.get(tenant)), writes=False)
    return [user.email for user in (await UserRepository(table).newest(first=100, after=None)).items]


async def test_a_tenant_is_moved_and_moved_back_with_all_items_and_no_item_of_a_neighbour(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant, neighbour = await populated(stack, "moving"), await populated(stack, "moving-1")
    before, others = places(stack, tenant)[0], places(stack, neighbour)
    listed = await emails(stack, mover, tenant)
    gone = await mover.move(tenant, Placement.SILO)
    assert places(stack, tenant) == ({}, before)
    assert (gone.phase, gone.items_changed, gone.items_total) == ("FINISHED", len(before), len(before))
    found = await mover.get(tenant)
    assert (found.placement, found.move) == (Placement.SILO, None)
    assert await emails(stack, mover, tenant) == listed
    back = await mover.move(tenant, Placement.POOL)
    assert places(stack, tenant) == (before, {})
    assert back.items_changed == len(before)
    assert await emails(stack, mover, tenant) == listed
    assert places(stack, neighbour) == others
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
    tenant = await populated(stack, "cursors")
    listed = await emails(stack, mover, tenant)
    first = await UserRepository(stack.table(tenant, writes=False)).newest(first=5, after=None)
    await mover.move(tenant, Placement.SILO)
    table = stack.tables.for_tenant(location_of(await mover.get(tenant)), writes=False)
    rest = await UserRepository(table).newest(first=50, after=first.edges[-1].cursor())
    assert [user.email for user in (*first.items, *rest.items)] == listed


@pytest.mark.one_engine
async def test_a_move_to_the_same_placement_or_of_an_inactive_tenant_is_refused(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await populated(stack, "stays", 1)
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
    tenant = await populated(stack, f"back-{at.lower()}")
    before = places(stack, tenant)[0]
    made = await mover.begin(tenant, Placement.SILO)
    event = {MovePhase.PLAN: "before tenant.move_dual_write", MovePhase.DUAL: "after tenant.move_dual_write"}
    event |= {MovePhase.BACKFILL: "after tenant.move_backfill", MovePhase.SHADOW: "after tenant.move_shadow_read"}
    event |= {MovePhase.SWITCHED: "after tenant.move_switched"}
    await _torn(mover, made, event[at])
    move = (await mover.get(tenant)).move
    assert move
    assert move.phase is at
    assert (await mover.begin(tenant, Placement.POOL)).id == made.id
    await mover.run(made)
    found = await mover.get(tenant)
    assert (found.placement, found.move) == (Placement.POOL, None)
    assert places(stack, tenant) == (before, {})


@pytest.mark.one_engine
async def test_a_move_whose_old_copy_is_being_deleted_cannot_be_cancelled(stack: ServiceStack, mover: MoveRun) -> None:
    tenant = await populated(stack, "arrived")
    made = await mover.begin(tenant, Placement.SILO)
    await _torn(mover, made, "after tenant.move_clearing")
    with pytest.raises(Conflict, match="has already arrived"):
        await mover.begin(tenant, Placement.POOL)
    await mover.run(made)
    assert (await mover.get(tenant)).placement is Placement.SILO


async def _torn(mover: MoveRun, made: Job, where: str) -> None:
    def failpoint(name: str) -> None:
        if name == where:
            raise Crash

    with pytest.raises(Crash):
        await mover.run(made, failpoint=failpoint)


@pytest.mark.full("a crash at every step")
@pytest.mark.one_engine
async def test_a_move_is_completed_after_a_crash_at_any_failpoint(stack: ServiceStack, mover: MoveRun) -> None:
    seams = list[str]()
    tenant = await populated(stack, "torn-count")
    await mover.run(await mover.begin(tenant, Placement.SILO), failpoint=seams.append)
    assert len(seams) > 20
    for number, to in enumerate((Placement.SILO, Placement.POOL)):
        torn = await populated(stack, f"torn-{number}")
        before = places(stack, torn)[0]
        if to is Placement.POOL:
            await mover.move(torn, Placement.SILO)
        made, deaths, left = await mover.begin(torn, to), 0, iter(range(10_000))
        died = True
        while died:
            died = await _dies_at(mover, made, next(left))
            deaths += died
        assert deaths > 15
        assert places(stack, torn) == (({}, before) if to is Placement.SILO else (before, {}))
        assert (await mover.get(torn)).move is None


async def _dies_at(mover: MoveRun, made: Job, nth: int) -> bool:
    """At the first seam that no worker before has passed: each comes one further."""
    passed = list[str]()

    def failpoint(name: str) -> None:
        passed.append(name)
        if len(passed) > 1 + nth % 7:
            raise Crash

    try:
        await mover.run(made, failpoint=failpoint)
    except Crash:
        return True
    return False


@pytest.mark.one_engine
@pytest.mark.parametrize("to", Placement)
async def test_each_phase_of_a_move_waits_for_the_settle_time(
    stack: ServiceStack, mover: MoveRun, to: Placement
) -> None:
    tenant = await populated(stack, f"waits-{to.lower()}", 3)
    if to is Placement.POOL:
        await mover.move(tenant, Placement.SILO)
    at = dict(await _timed(mover, await mover.begin(tenant, to)))
    steps = ["tenant.move_dual_write", "tenant.move_backfill", "tenant.move_switched", "tenant.move_clearing"]
    waited = [at[f"after {name}"] for name in steps]
    assert [after - before for before, after in itertools.pairwise(waited)] == [SETTLE] * 3
    assert at["cleared"] - waited[-1] == SETTLE


@pytest.mark.one_engine
async def test_each_step_of_a_cancelled_move_waits_for_the_settle_time(stack: ServiceStack, mover: MoveRun) -> None:
    tenant = await populated(stack, "waits-back", 3)
    made = await mover.begin(tenant, Placement.SILO)
    await _torn(mover, made, "after tenant.move_switched")
    await mover.begin(tenant, Placement.POOL)
    told = await _timed(mover, made)
    steps = [after for name, after in told if name == "after tenant.move_rolled_back"]
    assert steps == [SETTLE, 2 * SETTLE, 3 * SETTLE]
    assert dict(told)["cleared"] == 3 * SETTLE


async def _timed(mover: MoveRun, made: Job) -> list[tuple[str, float]]:
    """What was passed until the end, and after how many seconds of waiting."""
    slept, told = 0.0, list[tuple[str, float]]()

    async def sleep(seconds: float) -> None:
        nonlocal slept
        slept += seconds

    means = replace(
        mover.migrator.job_resources(units_per_second=1e6),
        failpoint=lambda name: told.append((name, slept)),
        sleep=sleep,
    )
    await run_job(means, made.id, program_for(made, mover.migrator))
    return told


@pytest.mark.one_engine
async def test_a_difference_that_no_server_reported_returns_the_move_to_backfill(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await populated(stack, "spoilt")
    made, phases = await mover.begin(tenant, Placement.SILO), list[str]()

    def failpoint(name: str) -> None:
        phases.append(name)
        if name == "after tenant.move_shadow_read" and phases.count(name) == 1:
            _spoil(stack, tenant)

    await mover.run(made, failpoint=failpoint)
    assert phases.count("after tenant.move_backfill") == 2
    assert (await mover.get(tenant)).placement is Placement.SILO
    assert {one["name"]["S"] for one in places(stack, tenant)[1].values() if one["SK"]["S"] == "PROFILE"} == {"A"}


def _spoil(stack: ServiceStack, tenant: TenantId) -> None:
    """One item of the copy is not what it should be."""
    silo = places(stack, tenant)[1]
    key = next(key for key in silo if key[1] == "PROFILE")
    item = {**silo[key], "name": {"S": "Somebody else"}}
    stack.engine_client().put_item(TableName=f"{stack.settings.table}-silo-{tenant}", Item=item)


@pytest.mark.one_engine
async def test_an_item_that_expired_in_one_table_only_does_not_delay_a_move(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await populated(stack, "expired", 3)
    made = await mover.begin(tenant, Placement.SILO)
    pool, client = stack.settings.table, stack.engine_client()
    old = {"PK": {"S": f"TENANT#{tenant}#OLD"}, "SK": {"S": "A"}, "ttl": {"N": "1000"}, "version": {"N": "1"}}

    def failpoint(name: str) -> None:
        if name == "after tenant.move_shadow_read":
            client.put_item(TableName=pool, Item=old)
            client.put_item(TableName=f"{pool}-silo-{tenant}", Item={**old, "SK": {"S": "B"}})

    await mover.run(made, failpoint=failpoint)
    assert (await mover.get(tenant)).placement is Placement.SILO


@pytest.mark.one_engine
async def test_a_difference_that_a_server_reported_returns_the_move_to_backfill(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await populated(stack, "differs")
    made = await mover.begin(tenant, Placement.SILO)
    told, phases = False, list[str]()

    def failpoint(name: str) -> None:
        phases.append(name)

    differences = ShadowDifferences(mover.migrator.control)

    class Once:
        """Hears of one difference while servers compare."""

        async def count(self, migration: str) -> int:
            nonlocal told
            if not told:
                told = True
                await differences.add(migration)
            return await differences.count(migration)

        reset = staticmethod(differences.reset)

    program: Any = program_for(made, mover.migrator)
    means = replace(
        mover.migrator.job_resources(units_per_second=100_000.0), failpoint=failpoint, sleep=without_waiting
    )
    await run_job(means, made.id, replace(program, differences=Once()))
    assert phases.count("after tenant.move_backfill") == 2
    assert (await mover.get(tenant)).placement is Placement.SILO


@pytest.mark.one_engine
async def test_a_server_with_an_expired_location_cannot_write_to_the_old_table_after_a_move(
    stack: ServiceStack, mover: MoveRun
) -> None:
    """So the wait is what it takes: who went on by an old home would write where nobody reads."""
    tenant = await populated(stack, "stale", 1)
    await mover.move(tenant, Placement.SILO)
    stale = stack.tables.for_tenant(TenantLocation(tenant=tenant, valid_until=0.0), writes=True)
    with pytest.raises(Exception, match="items may be elsewhere"):
        await UserRepository(stale).create(email="late@x.example", name="A", role=Role.MEMBER)
    assert places(stack, tenant)[0] == {}
