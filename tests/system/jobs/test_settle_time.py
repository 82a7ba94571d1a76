"""Every job waits for the settle time that is computed from the settings, whoever runs the job.

The expected times are sums of the four settings, not what the code computes."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from keyfence.app.local_development import application, aws_access
from keyfence.jobs import background_jobs
from keyfence.jobs.job_programs import ExportTarget, program_for, rekey_program
from keyfence.jobs.job_record import Job, JobId
from keyfence.jobs.job_runner import JobProgram, JobResources, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.start_move import StartMove
from keyfence.jobs.offboard.start_offboarding import StartOffboarding
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import RecordedSleep
from tests.stack import ApiClient, ServiceStack
from tests.system.jobs.offboarding_run import KEY, OPERATOR

pytestmark = pytest.mark.one_engine

SETTINGS: Mapping[str, Mapping[str, float]] = {
    "short": {
        "tenant_cache_seconds": 1.0,
        "tenant_use_seconds": 2.0,
        "connect_timeout_seconds": 3.0,
        "read_timeout_seconds": 5.0,
    },
    "long": {
        "tenant_cache_seconds": 7.0,
        "tenant_use_seconds": 11.0,
        "connect_timeout_seconds": 13.0,
        "read_timeout_seconds": 17.0,
    },
}
each_settings = pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)

RESHARD = """mutation ($tenant: ID!, $shards: Int!) {
  reshard(tenant: $tenant, collection: "users", shards: $shards) { job }
}"""
MOVE = "mutation ($tenant: ID!) { moveTenant(id: $tenant, to: SILO) { id } }"
OFFBOARD = "mutation ($tenant: ID!) { offboardTenant(id: $tenant, confirm: $tenant) { phase } }"
NEWEST_JOB = """query ($tenant: ID!) { jobs(tenant: $tenant, first: 1) { edges { node { finishedAt } } } }"""


@pytest.fixture
def sleep(monkeypatch: pytest.MonkeyPatch) -> RecordedSleep:
    """Replaces the sleep of jobs that a server runs in the background."""
    recorded = RecordedSleep()

    async def run_without_sleep(resources: JobResources, id: JobId, program: JobProgram) -> Job:
        return await run_job(replace(resources, sleep=recorded), id, program)

    monkeypatch.setattr(background_jobs, "run_job", run_without_sleep)
    return recorded


@pytest.fixture
def migrator(stack: ServiceStack, changes: Mapping[str, float]) -> Iterator[MigratorAccess]:
    settings = stack.settings.model_copy(update=dict(changes))
    with closing(aws_access(settings, stack.gate.session_issuer).connect_migrator()) as made:
        yield made


async def _run(migrator: MigratorAccess, job: Job, exports: Path) -> float:
    """Runs a job to its end. Returns the seconds for which it slept."""
    sleep = RecordedSleep()
    resources = replace(migrator.job_resources(units_per_second=1_000_000.0), sleep=sleep)
    ended = await run_job(resources, job.id, program_for(job, migrator, ExportTarget(exports, KEY)))
    assert ended.finished_at
    return sleep.seconds


@each_settings
async def test_a_reshard_waits_for_one_settle_time(
    migrator: MigratorAccess, changes: Mapping[str, float], tenant: TenantId, tmp_path: Path
) -> None:
    started: list[Job] = []
    tenants = TenantRepository(migrator.control, OPERATOR)
    reshard = StartReshard(tenants, migrator.tables.entities.collections, run_in_background=started.append)
    for shards, rebalance in ((4, False), (4, True), (2, False)):
        await reshard(tenant, "users", shards, rebalance=rebalance)
        assert await _run(migrator, started.pop(), tmp_path) == sum(changes.values())


@each_settings
async def test_a_move_waits_for_four_settle_times(
    migrator: MigratorAccess, changes: Mapping[str, float], tenant: TenantId, tmp_path: Path
) -> None:
    move = StartMove(TenantRepository(migrator.control, OPERATOR))
    for placement in (Placement.SILO, Placement.POOL):
        assert await _run(migrator, await move(tenant, placement), tmp_path) == 4 * sum(changes.values())


@each_settings
async def test_an_offboarding_waits_for_one_settle_time(
    migrator: MigratorAccess, changes: Mapping[str, float], tenant: TenantId, tmp_path: Path
) -> None:
    tenants = TenantRepository(migrator.control, OPERATOR)
    offboard = StartOffboarding(tenants, SuspensionPublisher(migrator.control, migrator.publish_suspensions))
    progress = await offboard(tenant, confirm=tenant)
    assert await _run(migrator, progress.job, tmp_path) == sum(changes.values())


@each_settings
async def test_a_rekey_run_uses_a_tenant_no_longer_than_the_settle_time_counts(
    migrator: MigratorAccess, changes: Mapping[str, float], tenant: TenantId
) -> None:
    """A re-key run does not wait. It acts on cached tenants, and other jobs rely on it to forget them as servers do."""
    read_at = migrator.tables.clock()
    location = await rekey_program(migrator).location(tenant)
    usable_seconds = location.valid_until - read_at
    counted_seconds = changes["tenant_cache_seconds"] + changes["tenant_use_seconds"]
    assert counted_seconds <= usable_seconds < counted_seconds + 1.0


@each_settings
async def test_a_server_without_the_migrators_credentials_waits_before_it_grows_a_collection(
    stack: ServiceStack, changes: Mapping[str, float], tenant: TenantId, sleep: RecordedSleep
) -> None:
    app = stack.serve(settings=stack.settings.model_copy(update=dict(changes)))
    operator = replace(stack.operator_client(), application=app)
    await operator.data(RESHARD, tenant=tenant, shards=4)
    await _wait_for_job(operator, tenant)
    assert sleep.seconds == sum(changes.values())


@each_settings
@pytest.mark.parametrize(
    ("mutation", "variables", "settle_times"),
    [(RESHARD, {"shards": 4}, 1), (MOVE, {}, 4), (OFFBOARD, {}, 1)],
    ids=["reshard", "move", "offboard"],
)
async def test_the_development_server_waits_for_the_settle_time(
    stack: ServiceStack,
    changes: Mapping[str, float],
    tenant: TenantId,
    sleep: RecordedSleep,
    tmp_path: Path,
    mutation: str,
    variables: dict[str, Any],
    settle_times: int,
) -> None:
    settings = stack.settings.model_copy(
        update={
            **changes,
            "iam_endpoint_url": stack.gate.url,
            "exports": tmp_path,
            "signing_key": SecretStr("k" * 43),
            "log_json": False,
        }
    )
    operator = replace(
        stack.operator_client(), application=application(settings, stack.gate.session_issuer, stack.issuer)
    )
    await operator.data(mutation, tenant=tenant, **variables)
    await _wait_for_job(operator, tenant)
    assert sleep.seconds == settle_times * sum(changes.values())


async def _wait_for_job(operator: ApiClient, tenant: TenantId) -> None:
    async with asyncio.timeout(60):
        while True:
            (edge,) = (await operator.data(NEWEST_JOB, tenant=tenant))["jobs"]["edges"]
            if edge["node"]["finishedAt"]:
                return
            await asyncio.sleep(0.05)
