"""`StartReshard`: starts a change of the number of shards of a collection, or resumes the running one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.jobs.access_patterns import job_by_id, jobs
from keyfence.jobs.job_record import Job, JobKind, new_job
from keyfence.jobs.reshard.reshard_phases import (
    STARTED_EVENTS,
    ReshardKind,
    counts_of,
    require_reshardable,
    reshard_kind,
    start_reshard,
    with_counts,
)
from keyfence.store.expressions import absent
from keyfence.store.shards import ShardCounts, ShardedCollections
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId

SEGMENTS = 4
"""How many segments of the table the job scans in parallel."""


class ReshardRequest(NamedTuple):
    """How many shards a collection should have. With `rebalance`, their number stays and items are spread evenly."""

    collection: str
    shards: int
    rebalance: bool = False

    def is_satisfied_by(self, counts: ShardCounts) -> bool:
        return self.shards == counts.write_shards and not self.rebalance

    def is_same_as(self, job: Job) -> bool:
        """Tells whether a job of this collection does what this request asks for."""
        parameters = orjson.loads(job.parameters)
        is_rebalance = parameters["kind"] == ReshardKind.REBALANCE
        return (self.shards, self.rebalance) == (parameters["shards"], is_rebalance)


@dataclass(frozen=True, slots=True)
class StartReshard:
    """Starts a reshard, or resumes the running one. It needs access to the control plane only."""

    tenants: TenantRepository
    collections: ShardedCollections
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    run_in_background: Callable[[Job], None] = lambda _: None
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, collection: str, shards: int, *, rebalance: bool = False) -> ShardCounts:
        """Returns the shard counts that servers use from now on. Does nothing if the collection is as requested."""
        name = self.collections.checked_name(collection)
        request = ReshardRequest(name, self.collections.checked_count(name, shards), rebalance)
        before = counts_of(await self.tenants.get(id), name)
        if before.job_id is not None:
            self.run_in_background(await self._get_running_job(before.job_id, request))
            return before
        if request.is_satisfied_by(before):
            return before
        return await self._start(id, request, before)

    async def _get_running_job(self, id: str, request: ReshardRequest) -> Job:
        """Returns the job that changes the shards. Raises Conflict if it does not do what is requested."""
        job = await self.tenants.table.find(job_by_id, id=id)
        if job is None:
            raise Internal(f"the shards are being changed by job {id}, which is missing")
        if not request.is_same_as(job):
            raise Conflict(
                f"another change of these shards is running; complete it first with `keyfence job resume {id}`", job=id
            )
        return job

    async def _start(self, id: TenantId, request: ReshardRequest, before: ShardCounts) -> ShardCounts:
        kind = reshard_kind(before, request.shards)
        if request.rebalance and kind is not ReshardKind.REBALANCE:
            raise BadInput(
                f"shards must be {before.write_shards}: a rebalance does not change their number", field="shards"
            )
        parameters = {"collection": request.collection, "shards": request.shards, "kind": kind}
        job = new_job(
            JobKind.RESHARD,
            id,
            created_by=self.tenants.actor,
            created_at=self.tenants.now(),
            segments=self.segments,
            parameters=parameters,
        )

        def start(tenant: Tenant) -> Tenant:
            if counts_of(require_reshardable(tenant), request.collection) != before:
                raise Conflict("these shards have just been changed by another request; read them and try again")
            return with_counts(tenant, request.collection, start_reshard(before, request.shards, job.id))

        async def job_write() -> Sequence[Write[Any]]:
            return (put(jobs, job, when=absent()),)

        detail = {**parameters, "from": before.write_shards, "job": job.id}
        tenant = await self.tenants.change(id, STARTED_EVENTS[kind], start, detail=detail, more_writes=job_write)
        self.on_tenant_changed(tenant)
        self.run_in_background(job)
        return counts_of(tenant, request.collection)
