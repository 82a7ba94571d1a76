"""Moves of tenants in tests: starting them, running them, and reading both tables."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from keyfence.app.local_development import aws_access
from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.jobs.job_programs import program_for
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.start_move import StartMove
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

Sleep = Callable[[float], Awaitable[None]]


async def without_waiting(_: float) -> None:
    """Replaces the waits of a move. Use it where no server has a cached tenant."""


@dataclass(frozen=True, slots=True)
class MoveRun:
    """Starts moves as an operator and runs them as the migrator."""

    migrator: MigratorAccess

    @property
    def tenants(self) -> TenantRepository:
        return TenantRepository(self.migrator.control, "an-operator")

    async def begin(self, tenant: TenantId, to: Placement) -> Job:
        return await StartMove(self.tenants)(tenant, to)

    async def run(
        self, job: Job, failpoint: Callable[[str], None] = lambda _: None, sleep: Sleep = without_waiting
    ) -> Job:
        job_resources = replace(
            self.migrator.job_resources(units_per_second=100_000.0), page_size=20, failpoint=failpoint, sleep=sleep
        )
        return await run_job(job_resources, job.id, program_for(job, self.migrator))

    async def move(self, tenant: TenantId, to: Placement, sleep: Sleep = without_waiting) -> Job:
        return await self.run(await self.begin(tenant, to), sleep=sleep)

    async def get(self, tenant: TenantId) -> Tenant:
        return await self.tenants.get(tenant)


@contextmanager
def connect_mover(stack: ServiceStack, **changes: float) -> Iterator[MoveRun]:
    job = aws_access(stack.settings.model_copy(update=changes), stack.gate.session_issuer).connect_migrator()
    yield MoveRun(job)
    job.close()


def items(stack: ServiceStack, tenant: TenantId, table: str) -> dict[tuple[str, str], Any]:
    client, found = stack.engine_client(), list[Any]()
    if table not in client.list_tables()["TableNames"]:
        return {}
    for page in client.get_paginator("scan").paginate(TableName=table):
        found += page["Items"]
    return {(one["PK"]["S"], one["SK"]["S"]): one for one in found if one["PK"]["S"].startswith(f"TENANT#{tenant}#")}


def items_in_both_tables(
    stack: ServiceStack, tenant: TenantId
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], Any]]:
    pool = stack.settings.table
    return items(stack, tenant, pool), items(stack, tenant, f"{pool}-silo-{tenant}")


async def tenant_with_users(stack: ServiceStack, name: str, count: int = 12) -> TenantId:
    tenant = await stack.new_tenant(name)
    for number in range(count):
        await UserRepository(stack.table(tenant)).create(email=f"{number}@x.example", name="A", role=Role.MEMBER)
    return tenant
