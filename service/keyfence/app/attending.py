"""What a server carries on by itself: with the register what needs no more, with the migrator everything."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson

from keyfence.jobs.job import Job, JobKind
from keyfence.jobs.lease import JobStore
from keyfence.jobs.migrator import MigratorAccess, program_for
from keyfence.jobs.reshard.job import ReshardJob
from keyfence.jobs.reshard.start import ReshardKind
from keyfence.jobs.runner import BackgroundJobs, JobResources, run_job
from keyfence.settings import Settings
from keyfence.store.scan import TableScan
from keyfence.store.tables import Tables
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant


def attendant(
    settings: Settings, tables: Tables, told: Callable[[Tenant], None], migrator: MigratorAccess | None
) -> BackgroundJobs:
    settle = timedelta(seconds=settings.settle_seconds)

    async def attend(migration: Job) -> None:
        if migrator:
            program = program_for(migration, migrator, told=told)
            await run_job(migrator.migrations(rate=settings.migration_units_per_second), migration.id, program)
        elif _moves_nothing(migration):
            control = tables.for_control_plane(writes=True)
            register = TenantRepository(control, migration.by)
            growing = ReshardJob(
                register=register,
                location=_nowhere,
                as_tenant=_nowhere,
                settle=settle,
                told=told,
                entities=tables.entities,
            )
            await run_job(
                JobResources(records=JobStore(control), sweep=TableScan(control.caller)), migration.id, growing
            )

    return BackgroundJobs(attend)


def _moves_nothing(migration: Job) -> bool:
    return migration.kind is JobKind.RESHARD and orjson.loads(migration.detail)["way"] == ReshardKind.GROW


def _nowhere(_: object) -> Any:
    raise TypeError("a server has no way to the items of its tenants but their own requests")
