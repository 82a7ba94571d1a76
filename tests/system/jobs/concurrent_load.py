"""Writers and readers of one tenant on several servers whose cached tenants have different ages."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Throttled
from keyfence.store.table import Table
from keyfence.tenancy.tenant_cache import TenantCache, location_of
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

CACHE_SECONDS = (0.05, 0.2, 0.4)
"""How old the cached tenant of each server may be."""
USE_SECONDS = 0.3
"""How long a request may use a cached tenant that is too old for new requests."""
PAGE_SIZES = (1, 3, 7, 50)


@dataclass
class Server:
    """One server process, with its own cache of tenants."""

    stack: ServiceStack
    tenant_cache: TenantCache

    @classmethod
    def of(cls, stack: ServiceStack, age: float) -> "Server":
        return cls(
            stack,
            TenantCache(
                stack.tables.for_control_plane(may_write=False), max_age_seconds=age, max_use_seconds=USE_SECONDS
            ),
        )

    async def table(self, tenant: TenantId, *, may_write: bool) -> Table:
        location = self.tenant_cache.location(await self.tenant_cache.get_active(tenant))
        return self.stack.tables.for_tenant(location, may_write=may_write)


@dataclass
class ConcurrentLoad:
    """The writes that were acknowledged, and the errors that each read of the whole list found."""

    stack: ServiceStack
    tenant: TenantId
    servers: Sequence[Server]
    acknowledged: set[str] = field(default_factory=set)
    attempted: set[str] = field(default_factory=set)
    reads_by_page_size: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    is_stopped: bool = False

    @classmethod
    def on_tenant(cls, stack: ServiceStack, tenant: TenantId) -> "ConcurrentLoad":
        return cls(stack, tenant, [Server.of(stack, age) for age in CACHE_SECONDS])

    @asynccontextmanager
    async def run_in_background(self, writers: int = 8) -> AsyncIterator[None]:
        tasks = [asyncio.ensure_future(self._write()) for _ in range(writers)]
        tasks += [asyncio.ensure_future(self._read(first)) for first in PAGE_SIZES]
        try:
            yield
        finally:
            self.is_stopped = True
            await asyncio.gather(*tasks)

    def any_server(self) -> Server:
        return random.choice(self.servers)

    async def _write(self) -> None:
        while not self.is_stopped:
            await self._count_refusals(self._create)
            await asyncio.sleep(0.5)

    async def _create(self) -> None:
        email = f"{next(self.numbers)}@x.example"
        self.attempted.add(email)
        users = UserRepository(await self.any_server().table(self.tenant, may_write=True))
        await users.create(email=email, name="Somebody", role=Role.MEMBER)
        self.acknowledged.add(email)

    async def _read(self, first: int) -> None:
        while not self.is_stopped:
            await self._count_refusals(lambda: self._read_list(first))
            await asyncio.sleep(0.1)

    async def _read_list(self, first: int) -> None:
        """Reads each page from another server. A small page size stops after a number of pages."""
        expected, found, after = set(self.acknowledged), list[str](), None
        for _ in range(40):
            users = UserRepository(await self.any_server().table(self.tenant, may_write=False))
            page = await users.newest(first=first, after=after)
            found += [user.email for user in page.items]
            if not page.has_next:
                self._check_list(expected, found, first)
                return
            after = page.edges[-1].cursor()
        self._check_list({one for one in expected if one in found}, found, first)

    def _check_list(self, expected: set[str], found: list[str], first: int) -> None:
        self.reads_by_page_size[first] += 1
        if missed := expected - set(found):
            self.errors.append(f"pages of {first} missed {sorted(missed)[:3]} of {len(found)}")
        if len(found) != len(set(found)):
            self.errors.append(f"pages of {first} met {[one for one, n in Counter(found).items() if n > 1][:3]} twice")
        order = [int(one.partition("@")[0]) for one in found]
        if any(b > a + 64 for a, b in itertools.pairwise(order)):
            self.errors.append(f"pages of {first} are out of order")

    async def _count_refusals(self, action: Callable[[], Awaitable[None]]) -> None:
        try:
            await action()
        except Throttled as error:
            self.refused[error.message] += 1

    async def read_whole_list(self) -> list[str]:
        """Reads the whole list after the move."""
        tenant = await self.servers[0].tenant_cache.get_active(self.tenant)
        table, found, after = self.stack.tables.for_tenant(location_of(tenant), may_write=False), list[str](), None
        while True:
            page = await UserRepository(table).newest(first=100, after=after)
            found += [user.email for user in page.items]
            if not page.has_next:
                return found
            after = page.edges[-1].cursor()
