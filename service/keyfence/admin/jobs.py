"""Reshard, move, offboard, job status."""

from datetime import datetime

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.tenants import CollectionShards, Tenant
from keyfence.jobs import job as model
from keyfence.jobs.lease import parse_job_id
from keyfence.jobs.offboard.start import OffboardingPhase, OffboardingProgress
from keyfence.tenancy.repository import parse_tenant_id
from keyfence.tenancy.tenant import Placement


@strawberry.type(description="A change of many items, and how far it has come.")
class Migration:
    """`phase` is spelled by its kind, and FINISHED at the end."""

    id: strawberry.ID
    tenant: strawberry.ID = strawberry.field(description="`*` where it goes over all tenants.")
    kind: str
    phase: str
    by: str
    detail: JSON
    items_scanned: int = strawberry.field(description="In the pass that is under way, or was the last.")
    items_copied: int = strawberry.field(description="Changed so far.")
    items_total: int | None
    counts: JSON = strawberry.field(description="What else the pass counts that is under way, or was the last.")
    started_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, source: model.Job) -> "Migration":
        return cls(
            id=strawberry.ID(source.id),
            tenant=strawberry.ID(source.tenant),
            kind=source.kind,
            phase=source.phase,
            by=source.by,
            detail=JSON(orjson.loads(source.detail)),
            items_scanned=source.items_scanned,
            items_copied=source.items_copied,
            items_total=source.items_total,
            counts=JSON(dict(source.counts)),
            started_at=source.created_at,
            finished_at=source.finished_at,
        )


@strawberry.type
class MigrationQueries:
    """Questions about migrations."""

    @strawberry.field
    async def migration(self, info: Info, id: strawberry.ID) -> Migration | None:
        found = await info.context.migrations.find(parse_job_id(id))
        return Migration.of(found) if found else None


@strawberry.type
class MoveMutations:
    """How tenants change their table."""

    @strawberry.mutation(
        description="Move a tenant to a table of its own, or back, while it is served. Asked again it goes on; asked "
        "for where the tenant came from, a move is called off. Where this server is not the migrator, `keyfence move` "
        "carries it through."
    )
    async def move_tenant(self, info: Info, id: strawberry.ID, to: Placement) -> Migration:
        return Migration.of(await info.context.moves(parse_tenant_id(id), to))


@strawberry.type
class ShardMutations:
    """How collections get as many shards as they need."""

    @strawberry.mutation(
        description="Give a collection so many shards while it is read and written. Asked again it goes on. More "
        "shards are served by every server soon after; fewer, and `rebalance`, which puts every item where it would be "
        "written now, are carried through by `keyfence reshard` where this server is not the migrator."
    )
    async def reshard(
        self, info: Info, tenant: strawberry.ID, collection: str, shards: int, rebalance: bool = False
    ) -> CollectionShards:
        id = parse_tenant_id(tenant, "tenant")
        return CollectionShards.of(collection, await info.context.reshards(id, collection, shards, rebalance=rebalance))


strawberry.enum(OffboardingPhase, name="OffboardingPhase", description="What is to be done next of an offboarding.")


@strawberry.type(description="A tenant that leaves, and how far it has come.")
class Offboarding:
    """The certificate is there when nothing of the tenant is."""

    tenant: Tenant
    phase: OffboardingPhase
    export_uri: str | None
    items_exported: int
    items_purged: int
    certificate: JSON | None

    @classmethod
    def of(cls, departure: OffboardingProgress) -> "Offboarding":
        job = departure.job
        finished = job.certificate if job.phase is OffboardingPhase.FINISHED else None
        return cls(
            tenant=Tenant.of(departure.tenant),
            phase=job.phase,
            export_uri=job.uri,
            items_exported=job.lines,
            items_purged=job.purged,
            certificate=JSON(orjson.loads(finished)) if finished else None,
        )


@strawberry.type
class OffboardingMutations:
    """How tenants go."""

    @strawberry.mutation(
        description="Shut the tenant out at once, export it, purge it and certify it. Asked again it goes on, or "
        "answers how far `keyfence tenant offboard` has come. `confirm` is the tenant's id."
    )
    async def offboard_tenant(self, info: Info, id: strawberry.ID, confirm: strawberry.ID) -> Offboarding:
        return Offboarding.of(await info.context.offboarding(parse_tenant_id(id), confirm))
