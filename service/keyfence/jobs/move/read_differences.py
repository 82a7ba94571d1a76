"""How often servers found different items when they read both tables of a tenant that is being moved."""

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
class DifferenceCount:
    """How many differences all servers together have found during one move."""

    job_id: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


difference_counts = entity(DifferenceCount, table=ControlKey("JOB#{job_id}", "DIFFERENCES"))
differences_of_job = difference_counts.get()


@dataclass(frozen=True, slots=True)
class ReadDifferences:
    """Adds to, reads and deletes the stored number of differences of a move."""

    table: Table

    async def add(self, job_id: str) -> None:
        now: datetime = timestamps.utc_now()
        count = DifferenceCount(job_id=job_id, created_at=now, updated_at=now)
        await self.table.write(increment(difference_counts, count, "total", 1))

    async def count(self, job_id: str) -> int:
        stored = await self.table.find(differences_of_job, job_id=job_id)
        return stored.total if stored else 0

    async def reset(self, job_id: str) -> None:
        await self.table.write(delete(difference_counts, {"job_id": job_id}))


class DifferenceReporter:
    """Stores in the background that a request found a difference. The request does not wait for the write.

    For each tenant one write runs at a time. All differences that are found during a write count as one. The exact
    number does not matter: any difference makes the move copy the items again."""

    def __init__(self, tenant_cache: TenantCache, differences: ReadDifferences) -> None:
        self._tenant_cache, self._differences = tenant_cache, differences
        self._tasks: dict[TenantId, asyncio.Task[None]] = {}
        self._unreported: set[TenantId] = set()

    def __call__(self, tenant: TenantId) -> None:
        """Records one difference."""
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
            log.warning("read_difference_not_stored", tenant=tenant, reason=error.message)

    async def stop(self) -> None:
        """Waits until all recorded differences are stored."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
