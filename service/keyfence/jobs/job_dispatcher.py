"""Chooses the program and the credentials of a job, and runs jobs in the background of a server."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import structlog

from keyfence.errors import Conflict, KeyfenceError
from keyfence.jobs.job_record import Job, JobId, JobKind
from keyfence.jobs.job_runner import JobProgram, JobResources, run_job
from keyfence.jobs.job_store import JobStore
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.move.move_job import MoveJob
from keyfence.jobs.move.shadow_differences import ShadowDifferences
from keyfence.jobs.offboard.certificate import CertificateSigner
from keyfence.jobs.offboard.offboard_job import OffboardJob
from keyfence.jobs.rekey.rekey_job import RekeyJob
from keyfence.jobs.reshard.reshard_job import ReshardJob
from keyfence.jobs.reshard.start_reshard import ReshardKind
from keyfence.store.scan import TableScan
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence_iam.tenant import TenantId

log = structlog.get_logger(__name__)

OnTenantChanged = Callable[[Tenant], None]


@dataclass(frozen=True, slots=True)
class ExportTarget:
    """The directory in which offboardings write their exports, and the key that signs their certificates."""

    directory: Path
    signer: CertificateSigner


def program_for(
    job: Job,
    migrator: MigratorAccess,
    exports: ExportTarget | None = None,
    on_tenant_changed: OnTenantChanged = lambda _: None,
) -> JobProgram:
    """Returns the program of a job's kind. Raises Conflict for an offboarding if there is no place for exports."""
    tenants = TenantRepository(migrator.control, job.created_by)
    match job.kind:
        case JobKind.REKEY:
            return rekey_program(migrator)
        case JobKind.RESHARD:
            return ReshardJob(
                tenants=tenants,
                location=migrator.location,
                table_at=migrator.table_at,
                settle=migrator.settle,
                entities=migrator.tables.entities,
                on_tenant_changed=on_tenant_changed,
            )
        case JobKind.MOVE:
            return MoveJob(
                tenants=tenants,
                differences=ShadowDifferences(migrator.control),
                silos=migrator.silos,
                table_name=migrator.table_name,
                table_in=migrator.table_in,
                table_for_both=migrator.table_for_both,
                settle=migrator.settle,
                on_tenant_changed=on_tenant_changed,
            )
        case JobKind.OFFBOARD:
            if exports is None:
                raise Conflict("an offboarding needs KEYFENCE_EXPORTS and KEYFENCE_SIGNING_KEY")
            return OffboardJob(
                tenants=tenants,
                suspensions=SuspensionPublisher(migrator.control, migrator.publish_suspensions),
                as_tenant=migrator.table_in,
                drop_silo=migrator.silos.drop,
                exports=exports.directory,
                signer=exports.signer,
                settle=migrator.settle,
                on_tenant_changed=on_tenant_changed,
            )


def rekey_program(migrator: MigratorAccess) -> RekeyJob:
    cache = TenantCache(migrator.control, clock=migrator.tables.clock)

    async def location(tenant: TenantId) -> TenantLocation:
        return cache.location(await cache.get(tenant))

    return RekeyJob(
        location=location,
        table_at=migrator.table_at,
        tenants_in_silos=migrator.tenants_in_silos,
        entities=migrator.tables.entities,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDispatcher:
    """Runs jobs in a server.

    A server with the migrator's credentials runs every kind. Any other server runs only a reshard that adds shards,
    since that moves no items; the other jobs wait for a command that runs as the migrator."""

    tables: Tables
    settle: timedelta
    units_per_second: float
    migrator: MigratorAccess | None = None
    exports: ExportTarget | None = None
    on_tenant_changed: OnTenantChanged = lambda _: None

    def can_run(self, job: Job) -> bool:
        if self.migrator:
            return job.kind is not JobKind.OFFBOARD or self.exports is not None
        return job.kind is JobKind.RESHARD and orjson.loads(job.parameters)["kind"] == ReshardKind.GROW

    async def __call__(self, job: Job) -> None:
        if not self.can_run(job):
            return
        if self.migrator:
            resources = self.migrator.job_resources(units_per_second=self.units_per_second)
            program = program_for(job, self.migrator, self.exports, self.on_tenant_changed)
            await run_job(resources, job.id, program)
        else:
            control = self.tables.for_control_plane(writes=True)
            resources = JobResources(store=JobStore(control), scan=TableScan(control.caller))
            await run_job(resources, job.id, self._growth(job))

    def _growth(self, job: Job) -> ReshardJob:
        return ReshardJob(
            tenants=TenantRepository(self.tables.for_control_plane(writes=True), job.created_by),
            location=_refuse_items,
            table_at=_refuse_items,
            settle=self.settle,
            entities=self.tables.entities,
            on_tenant_changed=self.on_tenant_changed,
        )


def _refuse_items(_: object) -> Any:
    raise TypeError("a server without the migrator's credentials cannot move items of tenants")


class BackgroundJobs:
    """Runs jobs as background tasks, each of them at most once at a time.

    A job that fails stays stored. It is resumed by a request for the same work, or by `keyfence job resume`."""

    def __init__(self, run: Callable[[Job], Awaitable[object]]) -> None:
        self._run = run
        self._tasks: dict[JobId, asyncio.Task[None]] = {}

    def __call__(self, job: Job) -> None:
        if job.id not in self._tasks:
            task = self._tasks[job.id] = asyncio.ensure_future(self._run_logged(job))
            task.add_done_callback(lambda _: self._tasks.pop(job.id, None))

    async def _run_logged(self, job: Job) -> None:
        try:
            await self._run(job)
        except KeyfenceError as error:
            log.warning("job_stopped", job=job.id, kind=job.kind, reason=error.message)
        except Exception:
            log.exception("job_failed", job=job.id, kind=job.kind)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
