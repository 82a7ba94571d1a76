"""Where a tenant's items are, by what the register says of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Protocol

from keyfence.errors import KeyfenceError
from keyfence.store.location import Home
from keyfence.store.shards import ShardMap
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.move import MovePhase
from keyfence_iam.boundary import TenantId
from keyfence_iam.vending.wanted import Placement

MOVED = "the tenant's items are being moved to another table; run the command again"


def home_of(tenant: Tenant, *, until: float = inf) -> Home:
    """While it moves, what is written goes to both tables, so that either of them can be read."""
    home = Home(tenant=tenant.id, reads=_session(tenant.reads), shards=ShardMap(tenant.shards), until=until)
    if (move := tenant.move) is not None:
        home.also = _session(move.reads.other) if move.writes_both else None
        home.shadow = move.phase is MovePhase.SHADOW
    return home


def _session(placement: str) -> Placement:
    return Placement[placement]


class Source(Protocol):
    """A registry, which reads anew what is too old."""

    max_age: float

    async def served(self, tenant: TenantId) -> Tenant: ...
    def home(self, tenant: Tenant) -> Home: ...


@asynccontextmanager
async def kept_fresh(registry: Source, tenant: TenantId) -> AsyncIterator[Home]:
    """For work that takes longer than what is known of the tenant lasts. What cannot be read anew runs out."""
    home = registry.home(await registry.served(tenant))
    keeper = asyncio.ensure_future(_keep_fresh(registry, tenant, home))
    try:
        yield home
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_fresh(registry: Source, tenant: TenantId, home: Home) -> None:
    while True:
        await asyncio.sleep(registry.max_age / 2)
        with suppress(KeyfenceError):
            newest = registry.home(await registry.served(tenant))
            _renew(home, newest)


def _renew(home: Home, newest: Home) -> None:
    """A handle is bound to its tables: where others are to be used, it is of no use any more."""
    if (home.reads, home.also) != (newest.reads, newest.also):
        home.until, home.ended = -inf, MOVED
    elif home.until != -inf:
        home.shards, home.shadow, home.until = newest.shards, newest.shadow, newest.until
