"""Jobs in the operators' API: mutations that start them (reshard, move, offboard), and queries of their progress."""

from datetime import datetime

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.tenants import CollectionShards, Tenant
from keyfence.graphql.relay_types import Connection, connection, page_size
from keyfence.jobs import job_record as model
from keyfence.jobs.job_repository import parse_job_id
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, state_of
from keyfence.jobs.offboard.start_offboarding import OffboardingProgress
from keyfence.jobs.progress_estimate import progress_of
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import parse_tenant_id

strawberry.enum(model.JobKind, name="JobKind", description="The kinds of jobs.")
strawberry.enum(OffboardingPhase, name="OffboardingPhase", description="The current step of an offboarding.")


@strawberry.type(description="Long work that any worker can resume, and its progress.")
class Job:
    id: strawberry.ID
    tenant: strawberry.ID = strawberry.field(
        description="The id of the tenant, or `*` if the job changes items of all tenants."
    )
    kind: model.JobKind
    phase: str = strawberry.field(
        description="The current step. Each kind of job has its own steps. The last one is FINISHED."
    )
    percent: float | None = strawberry.field(
        description="An estimate of how much of the current phase is done, from 0 to 100. Null if there is no estimate."
    )
    seconds_left: float | None = strawberry.field(
        description="An estimate of the rest of the current phase, from its speed so far. Null if there is no estimate."
    )
    created_by: str
    parameters: JSON = strawberry.field(description="The parameters of the job. They depend on its kind.")
    items_scanned: int = strawberry.field(
        description="How many items the job has read in its current pass. In a pass, a job reads all items once. "
        "Between two passes: how many items it has read in the last pass."
    )
    items_changed: int = strawberry.field(description="How many items the job has changed in all its passes together.")
    items_total: int | None = strawberry.field(
        description="How many items the job has to change. Null if the number is not known."
    )
    counts: JSON = strawberry.field(
        description="Other numbers of the pass that `itemsScanned` describes, by name. Each kind of job has its own. "
        "Example: `compared` is the number of items that a move has compared in both tables."
    )
    worker: str | None = strawberry.field(description="The process that works on the job. Null if no process does.")
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, job: model.Job) -> "Job":
        progress = progress_of(job)
        return cls(
            id=strawberry.ID(job.id),
            tenant=strawberry.ID(job.tenant),
            kind=job.kind,
            phase=job.phase,
            percent=progress.percent,
            seconds_left=progress.seconds_left,
            created_by=job.created_by,
            parameters=JSON(orjson.loads(job.parameters)),
            items_scanned=job.items_scanned,
            items_changed=job.items_changed,
            items_total=job.items_total,
            counts=JSON(dict(job.counts)),
            worker=job.worker,
            created_at=job.created_at,
            updated_at=job.updated_at,
            finished_at=job.finished_at,
        )


@strawberry.type
class JobQueries:
    @strawberry.field(description="The job with this id, or null if there is none.")
    async def job(self, info: Info, id: strawberry.ID) -> Job | None:
        job = await info.context.jobs.find(parse_job_id(id))
        return Job.of(job) if job else None

    @strawberry.field(description="Jobs of one tenant, or of all tenants, the newest first.")
    async def jobs(
        self, info: Info, tenant: strawberry.ID | None = None, first: int | None = 20, after: str | None = None
    ) -> Connection[Job]:
        tenant_id = parse_tenant_id(tenant, "tenant") if tenant else None
        return connection(await info.context.jobs.newest(tenant_id, first=page_size(first), after=after), Job.of)


@strawberry.type
class MoveMutations:
    @strawberry.mutation(
        description="Moves a tenant to a table of its own, or back to the shared table, while the tenant is served. A "
        "repeated request resumes the move. A request for the placement that the tenant had before cancels the move. "
        "If this server may not move items, run `keyfence move` to do the work."
    )
    async def move_tenant(self, info: Info, id: strawberry.ID, to: Placement) -> Job:
        return Job.of(await info.context.start_move(parse_tenant_id(id), to))


@strawberry.type
class ShardMutations:
    @strawberry.mutation(
        description="Changes the number of shards of a collection while the collection is read and written. With "
        "`rebalance` the number stays, and every item is moved to the shard where a new item would be written. A "
        "repeated request resumes the change. Any server can add shards. If shards are removed or rebalanced, and this "
        "server may not move items, run `keyfence reshard` to move them."
    )
    async def reshard(
        self, info: Info, tenant: strawberry.ID, collection: str, shards: int, rebalance: bool = False
    ) -> CollectionShards:
        tenant_id = parse_tenant_id(tenant, "tenant")
        counts = await info.context.start_reshard(tenant_id, collection, shards, rebalance=rebalance)
        return CollectionShards.of(collection, counts)


@strawberry.type(description="The progress of an offboarding.")
class Offboarding:
    tenant: Tenant
    job: Job
    phase: OffboardingPhase
    export_uri: str | None = strawberry.field(description="The URI that the export is written to.")
    items_exported: int
    items_purged: int
    certificate: JSON | None = strawberry.field(
        description="The proof of the deletion. Null until the offboarding is finished."
    )

    @classmethod
    def of(cls, progress: OffboardingProgress) -> "Offboarding":
        state = state_of(progress.job)
        certificate = state.certificate if progress.job.finished_at else None
        return cls(
            tenant=Tenant.of(progress.tenant),
            job=Job.of(progress.job),
            phase=state.phase,
            export_uri=state.export_uri,
            items_exported=state.exported_count,
            items_purged=state.purged_count,
            certificate=JSON(orjson.loads(certificate)) if certificate else None,
        )


@strawberry.type
class OffboardingMutations:
    @strawberry.mutation(
        description="Denies the tenant access immediately. Then exports its items, deletes them, and writes a "
        "certificate of the deletion. A repeated request resumes the work and returns its progress. If this server may "
        "not delete a tenant's items, run `keyfence tenant offboard` to do the work. `confirm` must be the id of the "
        "tenant."
    )
    async def offboard_tenant(self, info: Info, id: strawberry.ID, confirm: strawberry.ID) -> Offboarding:
        return Offboarding.of(await info.context.start_offboarding(parse_tenant_id(id), confirm))
