"""Where a tenant's items are, by what the register says of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Protocol

from iam.boundary import TenantId
from service.errors import KeyfenceError
from service.store.home import Home
from service.store.shards import ShardMap
from service.tenancy.model import Tenant


def home_of(tenant: Tenant, *, until: float = inf) -> Home:
    return Home(tenant=tenant.id, shards=ShardMap(tenant.shards), until=until)


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
            home.shards, home.until = newest.shards, newest.until
