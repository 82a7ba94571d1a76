"""During reshards no write is lost, and every list contains all its items."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from keyfence.domains.activity.activity_log import ActivityId, ActivityRepository, activities, new_activity
from keyfence.domains.counters.sharded_counter import CounterRepository
from keyfence.domains.customers.repository import CustomerRepository
from keyfence.errors import Throttled
from keyfence.jobs.job_runner import run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.store import timestamps
from keyfence.store.ids import new_id
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, put
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack
from tests.system.jobs.offboarding_run import connect_as_migrator
from tests.system.jobs.reshard_run import ReshardRun

pytestmark = [
    pytest.mark.one_engine,
    pytest.mark.full("live traffic; test_resharding_conflicts.py covers the same without load"),
]

MAX_AGE, GRACE, LONGEST_CALL = 0.4, 0.6, 1.0
WRITERS, SIZES, FIRST = 8, (1, 3, 7, 50), 40
CHANGES = ((4, False), (4, True), (2, False), (8, False))
PAUSE = 0.4
SEEN = ActivityNote("thing.seen")


@pytest.fixture(scope="module")
def migrator(stack: ServiceStack) -> Iterator[MigratorAccess]:
    settings = {"tenant_cache_seconds": MAX_AGE, "tenant_use_seconds": GRACE, "read_timeout_seconds": LONGEST_CALL}
    with connect_as_migrator(stack, **settings) as access:
        yield access


@dataclass(slots=True)
class Servers:
    """Three servers that read the tenant at different times. Each call goes to the next server."""

    stack: ServiceStack
    tenant: TenantId
    registries: list[TenantCache] = field(default_factory=list)
    turns: "count[int]" = field(default_factory=count)

    @classmethod
    async def started(cls, stack: ServiceStack, tenant: TenantId) -> "Servers":
        made = cls(stack, tenant)
        for _ in range(3):
            control = stack.tables.for_control_plane(may_write=False)
            made.registries.append(TenantCache(control, max_age_seconds=MAX_AGE, max_use_seconds=GRACE))
            await made.registries[-1].get_active(tenant)
            await asyncio.sleep(MAX_AGE / 3)
        return made

    async def table(self) -> Table:
        registry = self.registries[next(self.turns) % 3]
        return self.stack.tables.for_tenant(registry.location(await registry.get_active(self.tenant)), may_write=True)


Make = Callable[[Table], Awaitable[str]]
Show = Callable[[Table, int, str | None], Awaitable[Page[Any]]]


async def _customer(table: Table) -> str:
    return (await CustomerRepository(table).create(name="Ann", email=None)).id


async def _customers(table: Table, first: int, after: str | None) -> Page[Any]:
    return await CustomerRepository(table).newest(first=first, after=after)


async def _activity(table: Table) -> str:
    made = new_activity(ActivityId(new_id("act")), SEEN, "somebody", timestamps.utc_now())
    await table.write(put(activities, made))
    return made.id


async def _journal(table: Table, first: int, after: str | None) -> Page[Any]:
    return await ActivityRepository(table).latest(first=first, after=after)


LISTS: dict[str, tuple[Make, Show]] = {"customers": (_customer, _customers), "activity": (_activity, _journal)}


@dataclass(slots=True)
class Clients:
    """Clients that write and read all the time. A call that is refused because it took too long is repeated."""

    servers: Servers
    make: Make
    show: Show
    written: list[str] = field(default_factory=list)
    """Ids of items whose write was acknowledged."""
    walks: Counter[int] = field(default_factory=Counter)
    over: bool = False

    async def write(self) -> None:
        while not self.over:
            await self.one()
            await asyncio.sleep(PAUSE)

    async def one(self) -> None:
        try:
            self.written.append(await self.make(await self.servers.table()))
        except Throttled:
            return

    async def read(self, first: int) -> None:
        while not self.over:
            there = set(self.written)
            found = await self.walk(first)
            ids = [one.id for one in found]
            assert found == sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)
            assert len(set(ids)) == len(ids), "an item came twice"
            assert there <= set(ids), "an item was missed"
            self.walks[first] += 1

    async def walk(self, first: int, after: str | None = None) -> list[Any]:
        found = list[Any]()
        while True:
            page = await self.page(first, after)
            assert len(page.items) == first or not page.has_next
            found += page.items
            if not page.has_next:
                return found
            after = page.edges[-1].cursor()

    async def page(self, first: int, after: str | None) -> Page[Any]:
        """Reads a page from the next server, which may know older or newer shard counts."""
        while True:
            try:
                return await self.show(await self.servers.table(), first, after)
            except Throttled:
                continue


async def changed(migrator: MigratorAccess, tenant: TenantId, collection: str) -> int:
    """Grows, rebalances, shrinks and grows a collection. Returns how many items were moved."""
    resharder, moved = ReshardRun(migrator=migrator), 0
    for shards, rebalance in CHANGES:
        job = await resharder.begin(tenant, collection, shards, rebalance=rebalance)
        job_resources = replace(migrator.job_resources(units_per_second=1_000_000.0), page_size=20)
        done = await run_job(job_resources, job.id, resharder.program)
        assert done.phase == "FINISHED"
        moved += done.items_changed
    return moved


@pytest.mark.parametrize("collection", LISTS)
async def test_every_reader_sees_the_whole_list_during_reshards(
    stack: ServiceStack, tenant: TenantId, migrator: MigratorAccess, collection: str
) -> None:
    clients = Clients(await Servers.started(stack, tenant), *LISTS[collection])
    await asyncio.gather(*(clients.one() for _ in range(FIRST)))
    start = await clients.page(9, None)
    rest = await clients.walk(50, start.edges[-1].cursor())
    async with asyncio.TaskGroup() as tasks:
        for _ in range(WRITERS):
            tasks.create_task(clients.write())
        for size in SIZES:
            tasks.create_task(clients.read(size))
        assert await changed(migrator, tenant, collection) > FIRST / 2
        clients.over = True
    last = Counter(one.id for one in await clients.walk(50))
    assert {id: last[id] for id in clients.written} == dict.fromkeys(clients.written, 1)
    assert max(last.values()) == 1
    assert await clients.walk(4, start.edges[-1].cursor()) == rest, "a cursor goes on where it stood"
    assert set(clients.walks) == set(SIZES)
    assert len(clients.written) > FIRST + WRITERS


@dataclass(slots=True)
class Count:
    """The sum of the acknowledged additions, and of those whose result is unknown."""

    servers: Servers
    begun: int = 0
    added: int = 0
    read: int = 0
    over: bool = False

    async def add(self) -> None:
        while not self.over:
            self.begun += 1
            try:
                await CounterRepository(await self.servers.table()).add("door", SEEN)
                self.added += 1
            except Throttled:
                continue
            await asyncio.sleep(0.02)

    async def sum(self) -> None:
        while not self.over:
            least = self.added
            try:
                (total,) = await CounterRepository(await self.servers.table()).totals(["door"])
            except Throttled:
                continue
            assert least <= total <= self.begun
            self.read += 1


async def test_a_sum_is_right_at_every_moment_during_reshards(
    stack: ServiceStack, tenant: TenantId, migrator: MigratorAccess
) -> None:
    counted = Count(await Servers.started(stack, tenant))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(WRITERS):
            tasks.create_task(counted.add())
        for _ in SIZES:
            tasks.create_task(counted.sum())
        assert await changed(migrator, tenant, "counters") == 2, "the parts of two slots, added to the others"
        counted.over = True
    (total,) = await CounterRepository(await counted.servers.table()).totals(["door"])
    assert counted.added <= total <= counted.begun
    assert min(counted.read, counted.added) > 20
