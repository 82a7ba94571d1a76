"""`TenantCache`: tenants as requests read them; `TenantLocation` of each, and its refresh."""

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
from keyfence.tenancy.tenant import MovePhase, Tenant, TenantStatus
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

MOVED = "the tenant's items are being moved to another table; run the command again"


def location_of(tenant: Tenant, *, until: float = inf) -> TenantLocation:
    """While it moves, what is written goes to both tables, so that either of them can be read."""
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
    """A registry, which reads anew what is too old."""

    max_age: float

    async def served(self, tenant: TenantId) -> Tenant: ...
    def location(self, tenant: Tenant) -> TenantLocation: ...


@asynccontextmanager
async def refreshed_location(registry: Source, tenant: TenantId) -> AsyncIterator[TenantLocation]:
    """For work that takes longer than what is known of the tenant lasts. What cannot be read anew runs out."""
    location = registry.location(await registry.served(tenant))
    keeper = asyncio.ensure_future(_keep_fresh(registry, tenant, location))
    try:
        yield location
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_fresh(registry: Source, tenant: TenantId, location: TenantLocation) -> None:
    while True:
        await asyncio.sleep(registry.max_age / 2)
        with suppress(KeyfenceError):
            newest = registry.location(await registry.served(tenant))
            _renew(location, newest)


def _renew(location: TenantLocation, newest: TenantLocation) -> None:
    """A handle is bound to its tables: where others are to be used, it is of no use any more."""
    if (location.read_from, location.also_write_to) != (newest.read_from, newest.also_write_to):
        location.valid_until, location.expired_message = -inf, MOVED
    elif location.valid_until != -inf:
        location.shards, location.compare_reads, location.valid_until = (
            newest.shards,
            newest.compare_reads,
            newest.valid_until,
        )


LARGEST = 10_000

WORDS = {
    TenantStatus.PROVISIONING: "the tenant is still being set up",
    TenantStatus.SUSPENDED: "the tenant is suspended",
    TenantStatus.OFFBOARDING: "the tenant is being offboarded",
}

Told = Callable[[TenantId], None]


@dataclass(slots=True)
class TenantCache:
    """Tenants by id, no older than `max_age` seconds; only tenants that exist are remembered.

    What cannot be read anew is not guessed: the request fails. `on_shut` hears of tenants that are not served."""

    table: Table
    clock: Callable[[], float] = time.monotonic
    max_age: float = TENANT_CACHE_SECONDS
    max_use: float = TENANT_USE_SECONDS
    """How long a request may use a tenant that was read too long ago for new requests."""
    on_shut: Told = lambda _: None
    _known: dict[TenantId, tuple[float, Tenant]] = field(default_factory=dict)
    _flights: "dict[TenantId, asyncio.Task[Tenant]]" = field(default_factory=dict)

    async def served(self, tenant: TenantId) -> Tenant:
        """The tenant, if it is to be served."""
        found = await self.get(tenant)
        if found.status is TenantStatus.ACTIVE:
            return found
        self.on_shut(tenant)
        raise _refusal(found)

    async def get(self, tenant: TenantId) -> Tenant:
        """A token for a tenant that is not registered is worth nothing, and says no more than any other bad token."""
        read_at, known = self._known.get(tenant, (0.0, None))
        if known is not None and self.clock() - read_at < self.max_age:
            return known
        flight = self._flights.get(tenant) or self._depart(tenant)
        return await asyncio.shield(flight)

    def _depart(self, tenant: TenantId) -> "asyncio.Task[Tenant]":
        """Everybody who comes before it is back waits for this one."""
        flight = asyncio.ensure_future(self._read(tenant))
        self._flights[tenant] = flight
        flight.add_done_callback(lambda ended: self._land(tenant, ended))
        return flight

    def _land(self, tenant: TenantId, flight: "asyncio.Task[Tenant]") -> None:
        """An error that nobody is left to hear is nobody's concern."""
        del self._flights[tenant]
        if not flight.cancelled():
            flight.exception()

    async def _read(self, tenant: TenantId) -> Tenant:
        asked_at = self.clock()
        found = await self.find(tenant)
        if found is None:
            self._known.pop(tenant, None)
            raise Unauthenticated("the token's tenant is not accepted")
        return self._remember(found, asked_at)

    def location(self, tenant: Tenant) -> TenantLocation:
        """For a request that begins now. Of one that is not remembered any more, what is known is as old as can be."""
        read_at, _ = self._known.get(tenant.id, (self.clock() - self.max_age, None))
        return location_of(tenant, until=read_at + self.max_age + self.max_use)

    async def find(self, tenant: TenantId) -> Tenant | None:
        return await self.table.find(tenant_by_id, id=tenant)

    async def reach(self) -> None:
        """Raise unless the register can be read."""
        await self.find(TenantId("readiness"))

    def invalidate_with(self, tenant: Tenant) -> None:
        """Of a change that was made in this very process. No older tenant is served, and the next request reads anew:
        since it was made, others may have changed it again."""
        self._remember(tenant, self.clock() - self.max_age)

    def _remember(self, tenant: Tenant, asked_at: float) -> Tenant:
        """What is known already is only replaced by what is not older: two reads may overtake each other.

        A tenant that was weighed has the version that it had before. One that is being set up may be served the next
        moment, and is not remembered."""
        _, known = self._known.pop(tenant.id, (0.0, tenant))
        if len(self._known) >= LARGEST:
            self._known.pop(next(iter(self._known)))
        newest = max(tenant, known, key=lambda one: one.version)
        if newest.status is not TenantStatus.PROVISIONING:
            self._known[tenant.id] = (asked_at, newest)
        return newest


def _refusal(tenant: Tenant) -> Forbidden | Unauthenticated:
    words = WORDS.get(tenant.status)
    return Forbidden(words) if words else Unauthenticated("the token's tenant is not accepted")
