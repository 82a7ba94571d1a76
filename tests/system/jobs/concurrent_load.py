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

AGES = (0.05, 0.2, 0.4)
"""How old the cached tenant of each server may be."""
GRACE = 0.3
"""How long a request may use a cached tenant that is too old for new requests."""
PAGES = (1, 3, 7, 50)


@dataclass
class Server:
    """One server process, with its own cache of tenants."""

    stack: ServiceStack
    registry: TenantCache

    @classmethod
    def of(cls, stack: ServiceStack, age: float) -> "Server":
        return cls(
            stack, TenantCache(stack.tables.for_control_plane(writes=False), max_age_seconds=age, max_use_seconds=GRACE)
        )

    async def table(self, tenant: TenantId, *, writes: bool) -> Table:
        home = self.registry.location(await self.registry.get_active(tenant))
        return self.stack.tables.for_tenant(home, writes=writes)


@dataclass
class ConcurrentLoad:
    """The writes that were acknowledged, and the errors that each read of the whole list found."""

    stack: ServiceStack
    tenant: TenantId
    servers: Sequence[Server]
    acknowledged: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    walks: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    stopped: bool = False

    @classmethod
    def over(cls, stack: ServiceStack, tenant: TenantId) -> "ConcurrentLoad":
        return cls(stack, tenant, [Server.of(stack, age) for age in AGES])

    @asynccontextmanager
    async def going_on(self, writers: int = 8) -> AsyncIterator[None]:
        tasks = [asyncio.ensure_future(self._write()) for _ in range(writers)]
        tasks += [asyncio.ensure_future(self._read(first)) for first in PAGES]
        try:
            yield
        finally:
            self.stopped = True
            await asyncio.gather(*tasks)

    def any_server(self) -> Server:
        return random.choice(self.servers)

    async def _write(self) -> None:
        while not self.stopped:
            await self._tried(self._create)
            await asyncio.sleep(0.5)

    async def _create(self) -> None:
        email = f"{next(self.numbers)}@x.example"
        self.begun.add(email)
        users = UserRepository(await self.any_server().table(self.tenant, writes=True))
        await users.create(email=email, name="Somebody", role=Role.MEMBER)
        self.acknowledged.add(email)

    async def _read(self, first: int) -> None:
        while not self.stopped:
            await self._tried(lambda: self._walk(first))
            await asyncio.sleep(0.1)

    async def _walk(self, first: int) -> None:
        """Reads each page from another server. A small page size stops after a number of pages."""
        known, found, after = set(self.acknowledged), list[str](), None
        for _ in range(40):
            users = UserRepository(await self.any_server().table(self.tenant, writes=False))
            page = await users.newest(first=first, after=after)
            found += [user.email for user in page.items]
            if not page.has_next:
                self._judge(known, found, first)
                return
            after = page.edges[-1].cursor()
        self._judge({one for one in known if one in found}, found, first)

    def _judge(self, known: set[str], found: list[str], first: int) -> None:
        self.walks[first] += 1
        if missed := known - set(found):
            self.wrong.append(f"pages of {first} missed {sorted(missed)[:3]} of {len(found)}")
        if len(found) != len(set(found)):
            self.wrong.append(f"pages of {first} met {[one for one, n in Counter(found).items() if n > 1][:3]} twice")
        order = [int(one.partition("@")[0]) for one in found]
        if any(b > a + 64 for a, b in itertools.pairwise(order)):
            self.wrong.append(f"pages of {first} are out of order")

    async def _tried(self, what: Callable[[], Awaitable[None]]) -> None:
        try:
            await what()
        except Throttled as error:
            self.refused[error.message] += 1

    async def final(self) -> list[str]:
        """Reads the whole list after the move."""
        tenant = await self.servers[0].registry.get_active(self.tenant)
        table, found, after = self.stack.tables.for_tenant(location_of(tenant), writes=False), list[str](), None
        while True:
            page = await UserRepository(table).newest(first=100, after=after)
            found += [user.email for user in page.items]
            if not page.has_next:
                return found
            after = page.edges[-1].cursor()
