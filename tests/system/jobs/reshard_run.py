"""Reshard jobs in tests: starting them, running them, and reading the collection afterwards."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from keyfence.app.domain_loading import load_domains
from keyfence.app.local_development import with_local_timeout
from keyfence.domains.counters.sharded_counter import CounterRepository
from keyfence.domains.products.model import view_counter_name
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_runner import JobResources, run_job
from keyfence.jobs.migrator_access import MigratorAccess
from keyfence.jobs.reshard.reshard_job import ReshardJob
from keyfence.jobs.reshard.reshard_phases import counts_of
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.settings import Settings
from keyfence.store.codec import Item
from keyfence.store.entity import Entity, Query, key_names
from keyfence.store.shards import ShardCounts
from keyfence.store.table import Table
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant_cache import location_of
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.field_costs.large_tenant import SHELF, LargeTenant
from tests.system.field_costs.large_tenant_orders import REGION
from tests.system.jobs.offboarding_run import OPERATOR, START

SETTLE = with_local_timeout(Settings.model_construct()).settle_seconds

QUERIES: Mapping[str, Query[Any]] = {
    named.pattern.key.sharding.collection: named.pattern
    for named in load_domains().patterns
    if isinstance(named.pattern, Query) and named.pattern.key.sharding
}
"""The query of each sharded collection. Counters have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReshardRun:
    """Starts reshards as an operator and runs them as the migrator, with a manual clock."""

    migrator: MigratorAccess
    time: ManualClock = field(default_factory=lambda: ManualClock.at(START))

    @property
    def tenants(self) -> TenantRepository:
        return TenantRepository(self.migrator.control, OPERATOR, now=self.time.datetime)

    @property
    def program(self) -> ReshardJob:
        return ReshardJob(
            tenants=self.tenants,
            location=self.migrator.location,
            table_at=self.migrator.table_at,
            settle_time=self.migrator.settle_time,
            entities=self.migrator.tables.entities,
        )

    def job_resources(self, **changes: Any) -> JobResources:
        started = self.migrator.job_resources(units_per_second=1_000_000.0)
        records = replace(started.store, now=self.time.datetime)
        return replace(started, store=records, sleep=self.time.sleep, units_per_second=None, **changes)

    async def begin(self, tenant: TenantId, collection: str, shards: int, *, rebalance: bool = False) -> Job:
        started = list[Job]()
        reshards = StartReshard(
            self.tenants, self.migrator.tables.entities.collections, run_in_background=started.append, segments=2
        )
        await reshards(tenant, collection, shards, rebalance=rebalance)
        (job,) = started
        return job

    async def run(self, job: Job, **changes: Any) -> Job:
        return await run_job(self.job_resources(**changes), job.id, self.program)

    async def reshard(self, tenant: TenantId, collection: str, shards: int, *, rebalance: bool = False) -> Job:
        return await self.run(await self.begin(tenant, collection, shards, rebalance=rebalance))

    async def run_pages(self, job: Job, *, page: int, pages: int = 2) -> Job:
        """Runs the waits of a job and a number of pages of each segment."""
        asked = count()
        return await self.run(job, page_size=page, should_stop=lambda: next(asked) > pages + int(SETTLE / 5))

    async def counts(self, tenant: TenantId, collection: str) -> ShardCounts:
        return counts_of(await self.tenants.get(tenant), collection)

    async def table(self, stack: ServiceStack, tenant: TenantId) -> Table:
        """Returns the table handle of a server that has just read the shard map."""
        return stack.tables.for_tenant(location_of(await self.tenants.get(tenant)), may_write=True)


async def listed(table: Table, large_tenant: LargeTenant, collection: str, first: int) -> list[Any]:
    """Returns the whole collection, read page by page."""
    if collection == "counters":
        return await CounterRepository(table).totals(
            [view_counter_name(product.id) for product in large_tenant.products]
        )
    after, found = None, list[Any]()
    while True:
        page = await table.page(QUERIES[collection], first=first, after=after, **values(large_tenant, collection))
        assert len(page.items) == first or not page.has_next
        found += page.items
        if not page.has_next:
            return found
        after = page.edges[-1].cursor()


def values(large_tenant: LargeTenant, collection: str) -> dict[str, Any]:
    given = {"group_id": large_tenant.groups[0].id, "region": REGION, "category": SHELF, "created_at": large_tenant.now}
    return {name: given[name] for name in QUERIES[collection].key.partition.fields}


def items_by_shard(items: list[Item], collection: str, entities: Mapping[str, Entity[Any]]) -> Counter[int]:
    """Returns the number of items in each shard, from the engine."""
    found = Counter[int]()
    for item in items:
        entity = entities.get(item["type"]["S"])
        for index, key in entity.keys.items() if entity else ():
            partition = item.get(key_names(index).partition)
            if partition and key.sharding and key.sharding.collection == collection:
                found[int(partition["S"].rpartition("#")[2], 16)] += 1
    return found


def items_of(stack: ServiceStack, tenant: TenantId) -> list[Item]:
    """Returns all items of a tenant from the engine."""
    asked: dict[str, Any] = {"TableName": stack.settings.table, "ConsistentRead": True}
    pages = stack.engine_client().get_paginator("scan").paginate(**asked)
    own: list[Any] = [
        item for page in pages for item in page["Items"] if item["PK"]["S"].startswith(tenant_key_prefix(tenant))
    ]
    return sorted(own, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
