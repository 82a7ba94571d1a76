"""Tenants, their quotas, shards, moves and events in the operators' API."""

from datetime import datetime

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.graphql.relay_types import Connection, connection, page_size
from keyfence.store.shards import ShardCounts
from keyfence.tenancy import placement, tenant_events, tier_quotas
from keyfence.tenancy import tenant as tenant_module
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence.tenancy.repository import parse_tenant_id
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier

strawberry.enum(TenantStatus)
strawberry.enum(Tier)
strawberry.enum(Placement)
strawberry.enum(MovePhase)


@strawberry.type(
    description="How much a tenant may use: the quotas of its tier, or quotas that were set for the tenant."
)
class Quotas:
    requests_per_second: int
    read_units_per_second: int
    write_units_per_second: int
    cpu_ms_per_second: int = strawberry.field(
        description="Milliseconds of CPU time for parsing requests. The first millisecond of each request is free."
    )
    users: int
    storage_mb: int

    @classmethod
    def of(cls, quotas: tier_quotas.Quotas) -> "Quotas":
        return cls(
            requests_per_second=quotas.requests_per_second,
            read_units_per_second=quotas.read_units_per_second,
            write_units_per_second=quotas.write_units_per_second,
            cpu_ms_per_second=quotas.cpu_ms_per_second,
            users=quotas.users,
            storage_mb=quotas.storage_mb,
        )


@strawberry.type(description="How many shards a collection of a tenant has.")
class CollectionShards:
    collection: str
    read_shards: int = strawberry.field(description="How many shards a query reads.")
    write_shards: int = strawberry.field(description="How many shards new items are written to.")
    generation: int = strawberry.field(description="Grows by one whenever the number of shards changes.")
    job: strawberry.ID | None = strawberry.field(description="The job that changes the shards. Null if there is none.")

    @classmethod
    def of(cls, collection: str, counts: ShardCounts) -> "CollectionShards":
        return cls(
            collection=collection,
            read_shards=counts.read_shards,
            write_shards=counts.write_shards,
            generation=counts.generation,
            job=strawberry.ID(counts.job_id) if counts.job_id else None,
        )


@strawberry.type(description="The running move of a tenant to another table.")
class TenantMove:
    to: Placement = strawberry.field(description="The placement of the tenant when the move has ended.")
    phase: MovePhase
    job: strawberry.ID
    is_cancelled: bool = strawberry.field(description="Whether the move was cancelled and is being undone.")

    @classmethod
    def of(cls, move: placement.TableMove) -> "TenantMove":
        return cls(
            to=move.final_placement,
            phase=move.phase,
            job=strawberry.ID(move.job_id),
            is_cancelled=move.is_cancelled,
        )


@strawberry.type(description="A change of a tenant.")
class TenantEvent:
    id: strawberry.ID
    at: datetime
    kind: str = strawberry.field(description="What has changed, such as `tenant.suspended`.")
    by: str = strawberry.field(description="The subject of the operator, or `keyfence` for the service itself.")
    detail: JSON | None

    @classmethod
    def of(cls, event: tenant_events.TenantEvent) -> "TenantEvent":
        return cls(
            id=strawberry.ID(event.id),
            at=event.created_at,
            kind=event.kind,
            by=event.by,
            detail=orjson.loads(event.detail),
        )


@strawberry.type(description="A customer of the service.")
class Tenant:
    id: strawberry.ID
    name: str
    status: TenantStatus
    tier: Tier
    placement: Placement
    issuer: str
    reason: str | None = strawberry.field(description="Why the tenant is suspended.")
    origins: list[str] = strawberry.field(
        description="Origins of web pages that may call the API for this tenant, in addition to those of the settings."
    )
    stored_bytes: float = strawberry.field(description="The size of all items of the tenant at the last measurement.")
    created_at: datetime
    updated_at: datetime
    version: int
    source: strawberry.Private[tenant_module.Tenant]

    @classmethod
    def of(cls, tenant: tenant_module.Tenant) -> "Tenant":
        return cls(
            id=strawberry.ID(tenant.id),
            name=tenant.name,
            status=tenant.status,
            tier=tenant.tier,
            placement=tenant.placement,
            issuer=tenant.issuer,
            reason=tenant.reason,
            origins=sorted(tenant.origins),
            stored_bytes=float(tenant.stored_bytes),
            created_at=tenant.created_at,
            updated_at=tenant.updated_at,
            version=tenant.version,
            source=tenant,
        )

    @strawberry.field
    def quotas(self) -> Quotas:
        return Quotas.of(self.source.quotas)

    @strawberry.field(description="The running move to another table. Null if the tenant is not being moved.")
    def move(self) -> TenantMove | None:
        return TenantMove.of(self.source.move) if self.source.move else None

    @strawberry.field(description="The shard counts of all collections that can be sharded.")
    def shards(self, info: Info) -> list[CollectionShards]:
        counts_by_collection = info.context.start_reshard.collections.all_counts(self.source.shards)
        return [CollectionShards.of(collection, counts) for collection, counts in counts_by_collection.items()]

    @strawberry.field(description="The events of the tenant, the newest first.")
    async def events(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[TenantEvent]:
        page = await info.context.tenants.events(self.source.id, first=page_size(first), after=after)
        return connection(page, TenantEvent.of)


@strawberry.type
class TenantQueries:
    @strawberry.field(description="The tenant with this id, or null if there is none.")
    async def tenant(self, info: Info, id: strawberry.ID) -> Tenant | None:
        tenant = await info.context.tenants.find(parse_tenant_id(id))
        return Tenant.of(tenant) if tenant else None

    @strawberry.field(description="All tenants, or the tenants with a status, the newest first.")
    async def tenants(
        self, info: Info, status: TenantStatus | None = None, first: int | None = 20, after: str | None = None
    ) -> Connection[Tenant]:
        page = await info.context.tenants.newest(status=status, first=page_size(first), after=after)
        return connection(page, Tenant.of)
