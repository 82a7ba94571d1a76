"""Differences that servers find when they read from both tables of a moving tenant."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

import structlog

from keyfence.errors import KeyfenceError
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey
from keyfence.store.table import Table
from keyfence.store.writes import delete, increment
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence_iam.tenant import TenantId

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowDifference:
    """How many differences all servers together have found during one move."""

    job_id: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


differences = entity(ShadowDifference, table=ControlKey("JOB#{job_id}", "DIFFERENCES"))
differences_of_job = differences.get()


@dataclass(frozen=True, slots=True)
class ShadowDifferences:
    """The stored number of differences of each move."""

    table: Table

    async def add(self, job_id: str) -> None:
        now: datetime = timestamps.utc_now()
        difference = ShadowDifference(job_id=job_id, created_at=now, updated_at=now)
        await self.table.write(increment(differences, difference, "total", 1))

    async def count(self, job_id: str) -> int:
        found = await self.table.find(differences_of_job, job_id=job_id)
        return found.total if found else 0

    async def reset(self, job_id: str) -> None:
        await self.table.write(delete(differences, {"job_id": job_id}))


class DifferenceReporter:
    """Stores differences in the background, so that the request which found one is answered without delay.

    For each tenant one write runs at a time, and differences that are found meanwhile are stored as one. The exact
    number does not matter: any difference makes the move copy again."""

    def __init__(self, tenant_cache: TenantCache, differences: ShadowDifferences) -> None:
        self._tenant_cache, self._differences = tenant_cache, differences
        self._tasks: dict[TenantId, asyncio.Task[None]] = {}
        self._unreported: set[TenantId] = set()

    def __call__(self, tenant: TenantId) -> None:
        self._unreported.add(tenant)
        if tenant not in self._tasks:
            self._tasks[tenant] = task = asyncio.ensure_future(self._report_all(tenant))
            task.add_done_callback(lambda _: self._tasks.pop(tenant))

    async def _report_all(self, tenant: TenantId) -> None:
        while tenant in self._unreported:
            self._unreported.discard(tenant)
            await self._report(tenant)

    async def _report(self, tenant: TenantId) -> None:
        try:
            if move := (await self._tenant_cache.get(tenant)).move:
                await self._differences.add(move.job_id)
        except KeyfenceError as error:
            log.warning("shadow_difference_not_stored", tenant=tenant, reason=error.message)

    async def stop(self) -> None:
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
