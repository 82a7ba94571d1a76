"""What servers see of a move: answers of its two tables that differ, told to whoever carries it out."""

import asyncio

import structlog

from keyfence.errors import KeyfenceError
from keyfence.tenancy.differences import Differences
from keyfence.tenancy.registry import Registry
from keyfence_iam.boundary import TenantId

log = structlog.get_logger(__name__)


class Shadows:
    """Told beside the request that saw it, which is answered all the same. Of a tenant one is told at a time, and those
    that are seen meanwhile as one: that there are any sends the move back, however many there are."""

    def __init__(self, registry: Registry, differences: Differences) -> None:
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
