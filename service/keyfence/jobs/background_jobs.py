"""`ServerJobRunner` and `BackgroundJobs`: jobs that a server runs while it serves requests."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
import structlog

from keyfence.errors import KeyfenceError
from keyfence.jobs.job_programs import ExportTarget, OnTenantChanged, program_for
from keyfence.jobs.job_record import Job, JobId, JobKind
from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.job_runner import JobResources, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.reshard.reshard_job import ReshardJob
from keyfence.jobs.reshard.reshard_phases import ReshardKind
from keyfence.store.scan import TableScan
from keyfence.store.table_handles import Tables
from keyfence.tenancy.repository import TenantRepository

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerJobRunner:
    """Runs the jobs that the credentials of this server allow.

    A server with the migrator's credentials runs every kind of job, but offboardings only if `exports` is set. A server
    without these credentials runs only reshards that add shards, since they move no items. All other jobs wait until a
    command runs them as the migrator."""

    tables: Tables
    settle_time: timedelta
    units_per_second: float
    migrator: MigratorAccess | None = None
    exports: ExportTarget | None = None
    on_tenant_changed: OnTenantChanged = lambda _: None

    def can_run(self, job: Job) -> bool:
        if self.migrator:
            return job.kind is not JobKind.OFFBOARD or self.exports is not None
        return job.kind is JobKind.RESHARD and orjson.loads(job.parameters)["kind"] == ReshardKind.GROW

    async def __call__(self, job: Job) -> None:
        """Runs a job to its end. Does nothing if this server cannot run it."""
        if not self.can_run(job):
            return
        if self.migrator:
            resources = self.migrator.job_resources(units_per_second=self.units_per_second)
            program = program_for(job, self.migrator, self.exports, self.on_tenant_changed)
            await run_job(resources, job.id, program)
        else:
            control = self.tables.for_control_plane(may_write=True)
            resources = JobResources(store=JobRepository(control), scan=TableScan(control.caller))
            await run_job(resources, job.id, self._growth_program(job))

    def _growth_program(self, job: Job) -> ReshardJob:
        return ReshardJob(
            tenants=TenantRepository(self.tables.for_control_plane(may_write=True), job.created_by),
            location=_refuse_item_access,
            table_at=_refuse_item_access,
            settle_time=self.settle_time,
            entities=self.tables.entities,
            on_tenant_changed=self.on_tenant_changed,
        )


def _refuse_item_access(_: object) -> Any:
    raise TypeError("a server without the migrator's credentials cannot move items of tenants")


class BackgroundJobs:
    """Runs jobs as background tasks. A job runs at most once at a time in this process.

    A job that fails stays stored. A request for the same work resumes it, and so does `keyfence job resume`."""

    def __init__(self, run: Callable[[Job], Awaitable[object]]) -> None:
        self._run = run
        self._tasks: dict[JobId, asyncio.Task[None]] = {}

    def __call__(self, job: Job) -> None:
        """Starts a job, and does not wait for its end. Does nothing if the job is running."""
        if job.id not in self._tasks:
            task = self._tasks[job.id] = asyncio.ensure_future(self._run_and_log(job))
            task.add_done_callback(lambda _: self._tasks.pop(job.id, None))

    async def _run_and_log(self, job: Job) -> None:
        try:
            await self._run(job)
        except KeyfenceError as error:
            log.warning("job_stopped", job=job.id, kind=job.kind, reason=error.message)
        except Exception:
            log.exception("job_failed", job=job.id, kind=job.kind)

    async def stop(self) -> None:
        """Cancels all jobs, and waits until each has saved the page or step that it is working on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
