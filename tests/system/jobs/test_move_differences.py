"""A difference between the two tables returns a move to BACKFILL, so that the items are copied again."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from keyfence.jobs.job_programs import program_for
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.move.read_differences import ReadDifferences
from keyfence.tenancy.placement import Placement
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack
from tests.system.jobs.move_run import MoveRun, connect_mover, items_in_both_tables, tenant_with_users, without_waiting


@pytest.fixture
def mover(stack: ServiceStack) -> Iterator[MoveRun]:
    with connect_mover(stack) as access:
        yield access


@pytest.mark.one_engine
async def test_a_difference_that_no_server_reported_returns_the_move_to_backfill(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await tenant_with_users(stack, "spoilt")
    job, phases = await mover.begin(tenant, Placement.SILO), list[str]()

    def failpoint(name: str) -> None:
        phases.append(name)
        if name == "after tenant.move_shadow_read" and phases.count(name) == 1:
            _spoil(stack, tenant)

    await mover.run(job, failpoint=failpoint)
    assert phases.count("after tenant.move_backfill") == 2
    assert (await mover.get(tenant)).placement is Placement.SILO
    assert {
        one["name"]["S"] for one in items_in_both_tables(stack, tenant)[1].values() if one["SK"]["S"] == "PROFILE"
    } == {"A"}


def _spoil(stack: ServiceStack, tenant: TenantId) -> None:
    """Changes one item of the copy in the engine."""
    silo = items_in_both_tables(stack, tenant)[1]
    key = next(key for key in silo if key[1] == "PROFILE")
    item = {**silo[key], "name": {"S": "Somebody else"}}
    stack.engine_client().put_item(TableName=f"{stack.settings.table}-silo-{tenant}", Item=item)


@pytest.mark.one_engine
async def test_an_item_that_expired_in_one_table_only_does_not_delay_a_move(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await tenant_with_users(stack, "expired", 3)
    job = await mover.begin(tenant, Placement.SILO)
    pool, client = stack.settings.table, stack.engine_client()
    old = {"PK": {"S": f"TENANT#{tenant}#OLD"}, "SK": {"S": "A"}, "ttl": {"N": "1000"}, "version": {"N": "1"}}

    def failpoint(name: str) -> None:
        if name == "after tenant.move_shadow_read":
            client.put_item(TableName=pool, Item=old)
            client.put_item(TableName=f"{pool}-silo-{tenant}", Item={**old, "SK": {"S": "B"}})

    await mover.run(job, failpoint=failpoint)
    assert (await mover.get(tenant)).placement is Placement.SILO


@pytest.mark.one_engine
async def test_a_difference_that_a_server_reported_returns_the_move_to_backfill(
    stack: ServiceStack, mover: MoveRun
) -> None:
    tenant = await tenant_with_users(stack, "differs")
    job = await mover.begin(tenant, Placement.SILO)
    events, phases = False, list[str]()

    def failpoint(name: str) -> None:
        phases.append(name)

    differences = ReadDifferences(mover.migrator.control)

    class Once:
        """Reports one difference when the job asks for the first time."""

        async def count(self, job: str) -> int:
            nonlocal events
            if not events:
                events = True
                await differences.add(job)
            return await differences.count(job)

        reset = staticmethod(differences.reset)

    program: Any = program_for(job, mover.migrator)
    job_resources = replace(
        mover.migrator.job_resources(units_per_second=100_000.0), failpoint=failpoint, sleep=without_waiting
    )
    await run_job(job_resources, job.id, replace(program, differences=Once()))
    assert phases.count("after tenant.move_backfill") == 2
    assert (await mover.get(tenant)).placement is Placement.SILO
