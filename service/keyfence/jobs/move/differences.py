"""Counted differences of shadow reads, and their reporter."""

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
from keyfence.tenancy.cache import TenantCache
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowDifference:
    """Of one migration, over all servers."""

    migration: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


differences = entity(ShadowDifference, table=ControlKey("MIGRATION#{migration}", "DIFFERENCES"))
difference_by_migration = differences.get()


@dataclass(frozen=True, slots=True)
class ShadowDifferences:
    """Counted for each migration."""

    table: Table

    async def add(self, migration: str) -> None:
        now: datetime = timestamps.utc_now()
        one = ShadowDifference(migration=migration, created_at=now, updated_at=now)
        await self.table.write(increment(differences, one, "total", 1))

    async def count(self, migration: str) -> int:
        found = await self.table.find(difference_by_migration, migration=migration)
        return found.total if found else 0

    async def forget(self, migration: str) -> None:
        await self.table.write(delete(differences, {"migration": migration}))


log = structlog.get_logger(__name__)


class DifferenceReporter:
    """Told beside the request that saw it, which is answered all the same. Of a tenant one is told at a time, and those
    that are seen meanwhile as one: that there are any sends the move back, however many there are."""

    def __init__(self, registry: TenantCache, differences: ShadowDifferences) -> None:
        self._registry, self._differences = registry, differences
        self._telling: dict[TenantId, asyncio.Task[None]] = {}
        self._seen: set[TenantId] = set()

    def __call__(self, tenant: TenantId) -> None:
        self._seen.add(tenant)
        if tenant not in self._telling:
            self._telling[tenant] = task = asyncio.ensure_future(self._tell_all(tenant))
            task.add_done_callback(lambda _: self._telling.pop(tenant))

    async def _tell_all(self, tenant: TenantId) -> None:
        while tenant in self._seen:
            self._seen.discard(tenant)
            await self._tell(tenant)

    async def _tell(self, tenant: TenantId) -> None:
        try:
            if move := (await self._registry.get(tenant)).move:
                await self._differences.add(move.migration)
        except KeyfenceError as error:
            log.warning("shadow_untold", tenant=tenant, why=error.message)

    async def stop(self) -> None:
        await asyncio.gather(*self._telling.values(), return_exceptions=True)
