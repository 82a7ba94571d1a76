"""Jobs in the operators' API: reshard, move, offboard, and the state of any job."""

from datetime import datetime

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.tenants import CollectionShards, Tenant
from keyfence.graphql.relay_types import Connection, connection, page_size
from keyfence.jobs import job_record as model
from keyfence.jobs.job_store import parse_job_id
from keyfence.jobs.offboard.offboarding_phases import OffboardingPhase, state_of
from keyfence.jobs.offboard.start_offboarding import OffboardingProgress
from keyfence.jobs.progress_estimate import progress_of
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import parse_tenant_id

strawberry.enum(model.JobKind, name="JobKind", description="The kinds of long-running work.")
strawberry.enum(OffboardingPhase, name="OffboardingPhase", description="What an offboarding does next.")


@strawberry.type(description="Long-running work that any worker can resume, and its progress.")
class Job:
    id: strawberry.ID
    tenant: strawberry.ID = strawberry.field(description="`*` if the job changes items of all tenants.")
    kind: model.JobKind
    phase: str = strawberry.field(description="The current step, in the words of the kind; FINISHED at the end.")
    percent: float | None = strawberry.field(
        description="How much of the current phase is done, 0 to 100. It is estimated, and null if nothing is known."
    )
    seconds_left: float | None = strawberry.field(
        description="About how long the current phase still takes at its speed so far; null if nothing is known."
    )
    created_by: str
    parameters: JSON = strawberry.field(description="What the job does.")
    items_scanned: int = strawberry.field(description="In the current pass, or in the last one if none is running.")
    items_changed: int = strawberry.field(description="In all passes together.")
    items_total: int | None = strawberry.field(description="How many items the job has to change, if it is known.")
    counts: JSON = strawberry.field(description="Other numbers of the current pass, or of the last one.")
    worker: str | None = strawberry.field(description="The process that works on the job; null if none does.")
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
    @strawberry.field(description="One job, or null if there is none with this id.")
    async def job(self, info: Info, id: strawberry.ID) -> Job | None:
        found = await info.context.jobs.find(parse_job_id(id))
        return Job.of(found) if found else None

    @strawberry.field(description="Jobs of one tenant or of all, the newest first.")
    async def jobs(
        self, info: Info, tenant: strawberry.ID | None = None, first: int | None = 20, after: str | None = None
    ) -> Connection[Job]:
        owner = parse_tenant_id(tenant, "tenant") if tenant else None
        return connection(await info.context.jobs.newest(owner, first=page_size(first), after=after), Job.of)


@strawberry.type
class MoveMutations:
    @strawberry.mutation(
        description="Move a tenant to a table of its own, or back to the shared one, while it is served. A repeated "
        "request resumes the move. A request for the placement that the tenant had before cancels it. If this server "
        "is not the migrator, `keyfence move` does the work."
    )
    async def move_tenant(self, info: Info, id: strawberry.ID, to: Placement) -> Job:
        return Job.of(await info.context.moves(parse_tenant_id(id), to))


@strawberry.type
class ShardMutations:
    @strawberry.mutation(
        description="Change the number of shards of a collection while it is read and written. A repeated request "
        "resumes the change. Any server can add shards. To remove shards, and for `rebalance`, which moves every item "
        "to the shard where a new item would be written, items are moved; if this server is not the migrator, "
        "`keyfence reshard` does that."
    )
    async def reshard(
        self, info: Info, tenant: strawberry.ID, collection: str, shards: int, rebalance: bool = False
    ) -> CollectionShards:
        id = parse_tenant_id(tenant, "tenant")
        return CollectionShards.of(collection, await info.context.reshards(id, collection, shards, rebalance=rebalance))


@strawberry.type(description="A tenant that is being offboarded, and how far it is.")
class Offboarding:
    tenant: Tenant
    job: Job
    phase: OffboardingPhase
    export_uri: str | None = strawberry.field(description="Where the export is written.")
    items_exported: int
    items_purged: int
    certificate: JSON | None = strawberry.field(description="Not null when the offboarding is finished.")

    @classmethod
    def of(cls, progress: OffboardingProgress) -> "Offboarding":
        state = state_of(progress.job)
        certificate = state.certificate if progress.job.finished_at else None
        return cls(
            tenant=Tenant.of(progress.tenant),
            job=Job.of(progress.job),
            phase=state.phase,
            export_uri=state.export_uri,
            items_exported=state.exported,
            items_purged=state.purged,
            certificate=JSON(orjson.loads(certificate)) if certificate else None,
        )


@strawberry.type
class OffboardingMutations:
    @strawberry.mutation(
        description="Deny the tenant access immediately, then export its items, purge them and certify it. A repeated "
        "request resumes the work and returns its progress. If this server is not the migrator, `keyfence tenant "
        "offboard` does the work. `confirm` must be the tenant's id."
    )
    async def offboard_tenant(self, info: Info, id: strawberry.ID, confirm: strawberry.ID) -> Offboarding:
        return Offboarding.of(await info.context.offboarding(parse_tenant_id(id), confirm))
