"""`ReshardJob`: waits until every server uses the new shard counts, moves misplaced items, and publishes the result."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import orjson

from keyfence.jobs.job_record import STARTED
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.reshard.misplaced_items import MisplacedItems
from keyfence.jobs.reshard.reshard_phases import (
    FINISHED_EVENTS,
    ReshardKind,
    counts_of,
    finish_reshard,
    with_counts,
)
from keyfence.jobs.scan_pass import ScanPass, repeat_until_clean
from keyfence.store.entity_registry import EntityRegistry
from keyfence.store.keys import Fence
from keyfence.store.shards import ShardCounts
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId

SETTLING = "SETTLING"
SETTLED = "SETTLED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReshardJob:
    """The program of a reshard: STARTED, SETTLING, SETTLED, then rounds of MOVING and VERIFYING.

    A collection that grows needs no rounds. The program does nothing if the result is already published."""

    tenants: TenantRepository
    location: Callable[[TenantId], Awaitable[TenantLocation]]
    table_at: Callable[[TenantLocation], Table]
    settle_time: timedelta
    entities: EntityRegistry
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None

    async def __call__(self, run: JobRun) -> None:
        parameters = orjson.loads(run.job.parameters)
        kind, collection = ReshardKind(parameters["kind"]), parameters["collection"]
        counts = counts_of(await self.tenants.get(run.job.tenant), collection)
        if counts.job_id != run.job.id:
            return
        await self._settle(run)
        if kind is not ReshardKind.GROW:
            await self._move_items(run, collection, counts)
        await self._publish(run, kind, collection, parameters["shards"])

    async def _settle(self, run: JobRun) -> None:
        """Waits for the whole settle time, until every server uses the counts of `start_reshard`.

        A worker that takes over waits for the whole time again, since it cannot trust another machine's clock."""
        if run.job.phase not in {STARTED, SETTLING}:
            return
        await run.save(phase=SETTLING)
        await run.wait(self.settle_time)
        run.resources.failpoint("settled")
        await run.save(phase=SETTLED)

    async def _move_items(self, run: JobRun, collection: str, counts: ShardCounts) -> None:
        tenant = run.job.tenant
        table = run.lease.guard(self.table_at(await self.location(tenant)))
        misplaced = MisplacedItems(table, self.entities.tenant_entities_by_type, collection, counts)
        move = ScanPass(
            name="MOVING",
            process=misplaced.move,
            fence=Fence.for_tenant(tenant),
            table=table.caller.table,
            single_segment=collection in self.entities.collections.sharded_by_table_key,
        )
        await repeat_until_clean(run, move, replace(move, name="VERIFYING", process=misplaced.count))

    async def _publish(self, run: JobRun, kind: ReshardKind, collection: str, shards: int) -> None:
        """Stores the shard counts of the finished reshard."""
        job = run.job

        def finish(tenant: Tenant) -> Tenant:
            run.lease.check()
            counts = counts_of(tenant, collection)
            if counts.job_id != job.id:
                return tenant
            return with_counts(tenant, collection, finish_reshard(counts, kind, shards))

        run.resources.failpoint("before publishing")
        detail = {"collection": collection, "shards": shards, "job": job.id, "moved": job.items_changed}
        self.on_tenant_changed(await self.tenants.change(job.tenant, FINISHED_EVENTS[kind], finish, detail=detail))
        run.resources.failpoint("published")
