"""Starts or resumes a reshard, and the changes of shard counts that its steps make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.jobs.job_record import Job, JobKind, job_by_id, jobs, new_job
from keyfence.store.expressions import absent
from keyfence.store.shards import ONE_SHARD, MoveDirection, ShardCounts, ShardedCollections
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId


class ReshardKind(StrEnum):
    """How a reshard changes a collection: more shards, fewer shards, or items moved to their shards."""

    GROW = "GROW"
    SHRINK = "SHRINK"
    REBALANCE = "REBALANCE"


SEGMENTS = 4

STARTED_EVENTS: Mapping[ReshardKind, TenantEventKind] = {
    ReshardKind.GROW: TenantEventKind.SHARDS_GROWING,
    ReshardKind.SHRINK: TenantEventKind.SHARDS_SHRINKING,
    ReshardKind.REBALANCE: TenantEventKind.SHARDS_REBALANCING,
}
FINISHED_EVENTS: Mapping[ReshardKind, TenantEventKind] = {
    ReshardKind.GROW: TenantEventKind.SHARDS_GROWN,
    ReshardKind.SHRINK: TenantEventKind.SHARDS_SHRUNK,
    ReshardKind.REBALANCE: TenantEventKind.SHARDS_REBALANCED,
}


class ReshardRequest(NamedTuple):
    """How many shards a collection should have. `rebalance` keeps their number and spreads the items over them."""

    collection: str
    shards: int
    rebalance: bool = False

    def is_met_by(self, counts: ShardCounts) -> bool:
        return self.shards == counts.write_shards and not self.rebalance

    def is_request_of(self, job: Job) -> bool:
        parameters = orjson.loads(job.parameters)
        is_rebalance = parameters["kind"] == ReshardKind.REBALANCE
        return (self.shards, self.rebalance) == (parameters["shards"], is_rebalance)


@dataclass(frozen=True, slots=True)
class StartReshard:
    """Starts a reshard, or resumes the one that is running. It needs the control plane only."""

    tenants: TenantRepository
    collections: ShardedCollections
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    run_in_background: Callable[[Job], None] = lambda _: None
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, collection: str, shards: int, *, rebalance: bool = False) -> ShardCounts:
        """Returns the shard counts from now on. Does nothing if the collection is already as requested."""
        name = self.collections.checked_name(collection)
        request = ReshardRequest(name, self.collections.checked_count(name, shards), rebalance)
        before = counts_of(await self.tenants.get(id), name)
        if before.job_id is not None:
            self.run_in_background(await self._running_job(before.job_id, request))
            return before
        if request.is_met_by(before):
            return before
        return await self._start(id, request, before)

    async def _running_job(self, id: str, request: ReshardRequest) -> Job:
        job = await self.tenants.table.find(job_by_id, id=id)
        if job is None:
            raise Internal(f"the shards are being changed by job {id}, which is missing")
        if not request.is_request_of(job):
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
            created_by=self.tenants.by,
            created_at=self.tenants.now(),
            segments=self.segments,
            parameters=parameters,
        )

        def changed(tenant: Tenant) -> Tenant:
            if counts_of(require_reshardable(tenant), request.collection) != before:
                raise Conflict("these shards have just been changed by another request; read them and try again")
            return with_counts(tenant, request.collection, start_reshard(before, request.shards, job.id))

        async def also() -> Sequence[Write[Any]]:
            return (put(jobs, job, when=absent()),)

        detail = {**parameters, "from": before.write_shards, "job": job.id}
        tenant = await self.tenants.change(id, STARTED_EVENTS[kind], changed, detail=detail, also=also)
        self.on_tenant_changed(tenant)
        self.run_in_background(job)
        return counts_of(tenant, request.collection)


def counts_of(tenant: Tenant, collection: str) -> ShardCounts:
    return tenant.shards.get(collection, ONE_SHARD)


def reshard_kind(counts: ShardCounts, shards: int) -> ReshardKind:
    if shards == counts.write_shards:
        return ReshardKind.REBALANCE
    return ReshardKind.GROW if shards > counts.write_shards else ReshardKind.SHRINK


def start_reshard(counts: ShardCounts, shards: int, job_id: str) -> ShardCounts:
    """Returns the counts that servers use while the reshard runs.

    New shards are read before they are written, and shards that go are no longer written before they are no longer
    read. Items are moved only when every server uses these counts."""
    if counts.job_id is not None:
        raise Conflict(f"these shards are already being changed by job {counts.job_id}", job=counts.job_id)
    match reshard_kind(counts, shards):
        case ReshardKind.GROW:
            return replace(counts, read_shards=max(shards, counts.read_shards), job_id=job_id)
        case ReshardKind.SHRINK:
            return replace(
                counts,
                write_shards=shards,
                generation=counts.generation + 1,
                former_write_shards=tuple(count for count in counts.former_write_shards if count < shards),
                move_direction=MoveDirection.DOWN,
                job_id=job_id,
            )
        case ReshardKind.REBALANCE:
            return replace(counts, move_direction=MoveDirection.UP, job_id=job_id)


def finish_reshard(counts: ShardCounts, kind: ReshardKind, shards: int) -> ShardCounts:
    """Returns the counts after the reshard. Every server must use those of `start_reshard` before."""
    match kind:
        case ReshardKind.GROW:
            former = tuple(sorted({*counts.former_write_shards, counts.write_shards}))
            generation = counts.generation + 1
            return replace(counts, write_shards=shards, generation=generation, former_write_shards=former, job_id=None)
        case ReshardKind.SHRINK:
            return replace(counts, read_shards=shards, move_direction=None, job_id=None)
        case ReshardKind.REBALANCE:
            return replace(counts, former_write_shards=(), move_direction=None, job_id=None)


def with_counts(tenant: Tenant, collection: str, counts: ShardCounts) -> Tenant:
    return replace(tenant, shards={**tenant.shards, collection: counts})


def require_reshardable(tenant: Tenant) -> Tenant:
    if tenant.status not in {TenantStatus.ACTIVE, TenantStatus.SUSPENDED}:
        raise Conflict(f"the tenant is {tenant.status}: its shards cannot be changed")
    if tenant.move is not None:
        raise Conflict(f"the tenant is being moved by job {tenant.move.job_id}; wait until it is finished")
    return tenant
