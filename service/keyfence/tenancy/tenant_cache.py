"""`TenantCache`: the tenants that requests use, read at most a few seconds ago, and the tables with their items."""

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
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

MOVED_MESSAGE = "the tenant's items are being moved to another table; run the command again"


def location_of(tenant: Tenant, *, valid_until: float = inf) -> TenantLocation:
    """Returns which tables have a tenant's items. `valid_until` is a time of the monotonic clock."""
    location = TenantLocation(
        tenant=tenant.id,
        read_from=_table_access(tenant.read_placement),
        shards=ShardMap(tenant.shards),
        valid_until=valid_until,
    )
    if (move := tenant.move) is not None:
        location.also_write_to = _table_access(move.read_placement.other) if move.writes_both_tables else None
        location.compare_reads = move.phase is MovePhase.SHADOW
    return location


def _table_access(placement: Placement) -> TableAccess:
    return TableAccess[placement]


class TenantSource(Protocol):
    """Returns tenants and their locations. `TenantCache` implements it."""

    max_age_seconds: float

    async def get_active(self, tenant: TenantId) -> Tenant: ...
    def location(self, tenant: Tenant) -> TenantLocation: ...


@asynccontextmanager
async def refreshed_location(tenants: TenantSource, tenant: TenantId) -> AsyncIterator[TenantLocation]:
    """Keeps the location of a tenant valid during long work, such as an import.

    The location expires if the tenant cannot be read again, is not active any more, or is moved to another table."""
    location = tenants.location(await tenants.get_active(tenant))
    refresh_task = asyncio.ensure_future(_keep_fresh(tenants, tenant, location))
    try:
        yield location
    finally:
        refresh_task.cancel()
        with suppress(asyncio.CancelledError):
            await refresh_task


async def _keep_fresh(tenants: TenantSource, tenant: TenantId, location: TenantLocation) -> None:
    while True:
        await asyncio.sleep(tenants.max_age_seconds / 2)
        with suppress(KeyfenceError):
            newest = tenants.location(await tenants.get_active(tenant))
            _renew(location, newest)


def _renew(location: TenantLocation, newest: TenantLocation) -> None:
    """Copies the newest values into the location. If the tables differ, the location expires instead, because the work
    uses table handles that cannot change their table."""
    if (location.read_from, location.also_write_to) != (newest.read_from, newest.also_write_to):
        location.valid_until, location.expired_message = -inf, MOVED_MESSAGE
    elif location.valid_until != -inf:  # a location that has expired because of a move must not become valid again
        location.shards = newest.shards
        location.compare_reads = newest.compare_reads
        location.valid_until = newest.valid_until


MAX_TENANTS = 10_000

REFUSAL_MESSAGES = {
    TenantStatus.PROVISIONING: "the tenant is still being set up",
    TenantStatus.SUSPENDED: "the tenant is suspended",
    TenantStatus.OFFBOARDING: "the tenant is being offboarded",
}
"""Why requests are refused, by the status of the tenant. Requests of an OFFBOARDED tenant get the same answer as
requests of a tenant that never existed."""

NOT_ACCEPTED_MESSAGE = "the token's tenant is not accepted"


@dataclass(slots=True)
class TenantCache:
    """The tenants that requests use. A tenant that was read more than `max_age_seconds` ago is read again; if that
    fails, the request fails. The cache does not remember which tenants do not exist."""

    table: Table
    clock: Callable[[], float] = time.monotonic
    max_age_seconds: float = TENANT_CACHE_SECONDS
    max_use_seconds: float = TENANT_USE_SECONDS
    """How long a running request may use its tenant after `max_age_seconds`. New requests read the tenant again."""
    on_inactive: Callable[[TenantId], None] = lambda _: None
    """Called with the id of a tenant whose request is refused because the tenant is not ACTIVE."""
    _cached: dict[TenantId, tuple[float, Tenant]] = field(default_factory=dict)
    """Each tenant with the time at which the read of it began."""
    _running_reads: "dict[TenantId, asyncio.Task[Tenant]]" = field(default_factory=dict)

    async def get_active(self, tenant: TenantId) -> Tenant:
        """Raises Forbidden if the tenant is not ACTIVE, and Unauthenticated if it does not exist or was offboarded."""
        current = await self.get(tenant)
        if current.status is TenantStatus.ACTIVE:
            return current
        self.on_inactive(tenant)
        raise _refusal(current)

    async def get(self, tenant: TenantId) -> Tenant:
        """Raises Unauthenticated if the tenant does not exist."""
        read_at, cached = self._cached.get(tenant, (0.0, None))
        if cached is not None and self.clock() - read_at < self.max_age_seconds:
            return cached
        read_task = self._running_reads.get(tenant) or self._start_read(tenant)
        return await asyncio.shield(read_task)

    def _start_read(self, tenant: TenantId) -> "asyncio.Task[Tenant]":
        """Starts a read that all requests of this tenant wait for."""
        read_task = asyncio.ensure_future(self._read(tenant))
        self._running_reads[tenant] = read_task
        read_task.add_done_callback(lambda done_task: self._end_read(tenant, done_task))
        return read_task

    def _end_read(self, tenant: TenantId, read_task: "asyncio.Task[Tenant]") -> None:
        """Forgets a read that has ended, and retrieves its exception. Otherwise asyncio would log the exception if all
        requests that waited for the read were cancelled."""
        del self._running_reads[tenant]
        if not read_task.cancelled():
            read_task.exception()

    async def _read(self, tenant: TenantId) -> Tenant:
        began_at = self.clock()
        stored = await self.find(tenant)
        if stored is None:
            self._cached.pop(tenant, None)
            raise Unauthenticated(NOT_ACCEPTED_MESSAGE)
        return self._put(stored, began_at)

    def location(self, tenant: Tenant) -> TenantLocation:
        """Returns the location for a request that starts now. A tenant that the cache has dropped since it was read
        counts as `max_age_seconds` old."""
        read_at, _ = self._cached.get(tenant.id, (self.clock() - self.max_age_seconds, None))
        return location_of(tenant, valid_until=read_at + self.max_age_seconds + self.max_use_seconds)

    async def find(self, tenant: TenantId) -> Tenant | None:
        return await self.table.find(tenant_by_id, id=tenant)

    async def check_readable(self) -> None:
        """Raises an error if the table of tenants cannot be read. The tenant that it reads need not exist."""
        await self.find(TenantId("readiness"))

    def invalidate(self, tenant: Tenant) -> None:
        """Caches the version of the tenant that this process has stored. A read that began before the change cannot
        replace this version by the older one.

        The tenant is cached as already expired. The next request reads it again, because another process may have
        changed it since."""
        self._put(tenant, self.clock() - self.max_age_seconds)

    def _put(self, tenant: Tenant, read_at: float) -> Tenant:
        """Caches and returns the newer version of the tenant. The cached one can be newer, because reads can end in
        another order than they began.

        If both have the same version, the given tenant is used: a storage measurement does not change the version. A
        PROVISIONING tenant is not cached, since it may become ACTIVE at any moment."""
        _, cached = self._cached.pop(tenant.id, (0.0, tenant))
        if len(self._cached) >= MAX_TENANTS:
            oldest = next(iter(self._cached))
            self._cached.pop(oldest)
        newest = cached if cached.version > tenant.version else tenant
        if newest.status is not TenantStatus.PROVISIONING:
            self._cached[tenant.id] = (read_at, newest)
        return newest


def _refusal(tenant: Tenant) -> Forbidden | Unauthenticated:
    message = REFUSAL_MESSAGES.get(tenant.status)
    return Forbidden(message) if message else Unauthenticated(NOT_ACCEPTED_MESSAGE)
