"""`TenantCache`: tenants as requests read them, and the location of their items."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from keyfence.errors import Forbidden, KeyfenceError, Unauthenticated
from keyfence.settings import TENANT_CACHE_SECONDS, TENANT_USE_SECONDS
from keyfence.store.shards import ShardMap
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.access_patterns import tenant_by_id
from keyfence.tenancy.placement import MovePhase
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

MOVED = "the tenant's items are being moved to another table; run the command again"


def location_of(tenant: Tenant, *, until: float = inf) -> TenantLocation:
    """Returns where a tenant's items are. During a move, writes go to both tables, so that either can be read."""
    location = TenantLocation(
        tenant=tenant.id, read_from=_session(tenant.reads), shards=ShardMap(tenant.shards), valid_until=until
    )
    if (move := tenant.move) is not None:
        location.also_write_to = _session(move.reads.other) if move.writes_both else None
        location.compare_reads = move.phase is MovePhase.SHADOW
    return location


def _session(placement: str) -> TableAccess:
    return TableAccess[placement]


class Source(Protocol):
    """Gives tenants, and reads them again when they are too old."""

    max_age_seconds: float

    async def get_active(self, tenant: TenantId) -> Tenant: ...
    def location(self, tenant: Tenant) -> TenantLocation: ...


@asynccontextmanager
async def refreshed_location(registry: Source, tenant: TenantId) -> AsyncIterator[TenantLocation]:
    """Keeps the location of a tenant valid during work that takes long. It expires if the tenant cannot be read."""
    location = registry.location(await registry.get_active(tenant))
    keeper = asyncio.ensure_future(_keep_fresh(registry, tenant, location))
    try:
        yield location
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_fresh(registry: Source, tenant: TenantId, location: TenantLocation) -> None:
    while True:
        await asyncio.sleep(registry.max_age_seconds / 2)
        with suppress(KeyfenceError):
            newest = registry.location(await registry.get_active(tenant))
            _renew(location, newest)


def _renew(location: TenantLocation, newest: TenantLocation) -> None:
    """A table handle cannot change its tables. If the tenant's tables have changed, the location expires."""
    if (location.read_from, location.also_write_to) != (newest.read_from, newest.also_write_to):
        location.valid_until, location.expired_message = -inf, MOVED
    elif location.valid_until != -inf:
        location.shards, location.compare_reads, location.valid_until = (
            newest.shards,
            newest.compare_reads,
            newest.valid_until,
        )


MAX_TENANTS = 10_000

REFUSALS = {
    TenantStatus.PROVISIONING: "the tenant is still being set up",
    TenantStatus.SUSPENDED: "the tenant is suspended",
    TenantStatus.OFFBOARDING: "the tenant is being offboarded",
}


@dataclass(slots=True)
class TenantCache:
    """Tenants by id, no older than `max_age_seconds` seconds. A tenant that does not exist is not cached.

    If a tenant that is too old cannot be read again, the request fails."""

    table: Table
    clock: Callable[[], float] = time.monotonic
    max_age_seconds: float = TENANT_CACHE_SECONDS
    max_use_seconds: float = TENANT_USE_SECONDS
    """How long a request may use a tenant that was read too long ago for new requests."""
    on_inactive: Callable[[TenantId], None] = lambda _: None
    """Called with a tenant whose request is refused because the tenant is not ACTIVE."""
    _known: dict[TenantId, tuple[float, Tenant]] = field(default_factory=dict)
    _reads: "dict[TenantId, asyncio.Task[Tenant]]" = field(default_factory=dict)

    async def get_active(self, tenant: TenantId) -> Tenant:
        """Returns the tenant. Raises Forbidden or Unauthenticated unless it is ACTIVE."""
        found = await self.get(tenant)
        if found.status is TenantStatus.ACTIVE:
            return found
        self.on_inactive(tenant)
        raise _refusal(found)

    async def get(self, tenant: TenantId) -> Tenant:
        """Raises Unauthenticated for a tenant that is not registered, with the message that any bad token gets."""
        read_at, known = self._known.get(tenant, (0.0, None))
        if known is not None and self.clock() - read_at < self.max_age_seconds:
            return known
        read = self._reads.get(tenant) or self._start_read(tenant)
        return await asyncio.shield(read)

    def _start_read(self, tenant: TenantId) -> "asyncio.Task[Tenant]":
        """Starts a read that all requests for this tenant wait for."""
        read = asyncio.ensure_future(self._read(tenant))
        self._reads[tenant] = read
        read.add_done_callback(lambda ended: self._end_read(tenant, ended))
        return read

    def _end_read(self, tenant: TenantId, read: "asyncio.Task[Tenant]") -> None:
        """Marks an error as seen, also if every request that waited for it was cancelled."""
        del self._reads[tenant]
        if not read.cancelled():
            read.exception()

    async def _read(self, tenant: TenantId) -> Tenant:
        asked_at = self.clock()
        found = await self.find(tenant)
        if found is None:
            self._known.pop(tenant, None)
            raise Unauthenticated("the token's tenant is not accepted")
        return self._remember(found, asked_at)

    def location(self, tenant: Tenant) -> TenantLocation:
        """Returns the location for a request that starts now. A tenant that left the cache counts as old as allowed."""
        read_at, _ = self._known.get(tenant.id, (self.clock() - self.max_age_seconds, None))
        return location_of(tenant, until=read_at + self.max_age_seconds + self.max_use_seconds)

    async def find(self, tenant: TenantId) -> Tenant | None:
        return await self.table.find(tenant_by_id, id=tenant)

    async def check_readable(self) -> None:
        """Raises an error if tenants cannot be read."""
        await self.find(TenantId("readiness"))

    def invalidate_with(self, tenant: Tenant) -> None:
        """Replaces the cached tenant by one that this process has changed, and makes the next request read it again:
        another process may have changed it since."""
        self._remember(tenant, self.clock() - self.max_age_seconds)

    def _remember(self, tenant: Tenant, asked_at: float) -> Tenant:
        """Keeps the newer version, since two reads may overtake each other.

        A storage measurement does not change the version. A tenant that is PROVISIONING is not cached, since it may be
        ACTIVE the next moment."""
        _, known = self._known.pop(tenant.id, (0.0, tenant))
        if len(self._known) >= MAX_TENANTS:
            self._known.pop(next(iter(self._known)))
        newest = max(tenant, known, key=lambda one: one.version)
        if newest.status is not TenantStatus.PROVISIONING:
            self._known[tenant.id] = (asked_at, newest)
        return newest


def _refusal(tenant: Tenant) -> Forbidden | Unauthenticated:
    message = REFUSALS.get(tenant.status)
    return Forbidden(message) if message else Unauthenticated("the token's tenant is not accepted")
