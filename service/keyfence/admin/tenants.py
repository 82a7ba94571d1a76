"""Tenants as operators see them."""

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


@strawberry.type(description="What a tenant may use.")
class Quotas:
    """The allowance of its tier, or what was agreed with it alone."""

    requests_per_second: int
    read_units_per_second: int
    write_units_per_second: int
    users: int
    storage_mb: int

    @classmethod
    def of(cls, given: tier_quotas.Quotas) -> "Quotas":
        return cls(
            requests_per_second=given.requests_per_second,
            read_units_per_second=given.read_units_per_second,
            write_units_per_second=given.write_units_per_second,
            users=given.users,
            storage_mb=given.storage_mb,
        )


@strawberry.type(description="How many shards a collection of a tenant has.")
class CollectionShards:
    """Reads look into `readShards`, new items go into the first `writeShards`."""

    collection: str
    read_shards: int
    write_shards: int
    generation: int
    job: strawberry.ID | None = strawberry.field(description="The job that is changing them.")

    @classmethod
    def of(cls, collection: str, counts: ShardCounts) -> "CollectionShards":
        return cls(
            collection=collection,
            read_shards=counts.read_shards,
            write_shards=counts.write_shards,
            generation=counts.generation,
            job=strawberry.ID(counts.job_id) if counts.job_id else None,
        )


@strawberry.type(description="A move of a tenant to another table, while it is under way.")
class TenantMove:
    to: Placement = strawberry.field(description="Where the tenant will be at the end.")
    phase: MovePhase
    job: strawberry.ID
    is_cancelled: bool = strawberry.field(description="The move was cancelled, and the tenant goes back.")

    @classmethod
    def of(cls, under_way: placement.TableMove) -> "TenantMove":
        return cls(
            to=under_way.final_placement,
            phase=under_way.phase,
            job=strawberry.ID(under_way.job_id),
            is_cancelled=under_way.is_cancelled,
        )


@strawberry.type(description="Something that happened to a tenant.")
class TenantEvent:
    """`by` is the operator's subject."""

    id: strawberry.ID
    at: datetime
    kind: str
    by: str
    detail: JSON | None

    @classmethod
    def of(cls, happened: tenant_events.TenantEvent) -> "TenantEvent":
        return cls(
            id=strawberry.ID(happened.id),
            at=happened.created_at,
            kind=happened.kind,
            by=happened.by,
            detail=orjson.loads(happened.detail),
        )


@strawberry.type(description="A customer, whose users share one fence.")
class Tenant:
    """All that the control plane knows of it."""

    id: strawberry.ID
    name: str
    status: TenantStatus
    tier: Tier
    placement: Placement
    issuer: str
    reason: str | None = strawberry.field(description="Why it is suspended.")
    stored_bytes: float = strawberry.field(description="When its items were last weighed.")
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
            stored_bytes=float(tenant.stored_bytes),
            created_at=tenant.created_at,
            updated_at=tenant.updated_at,
            version=tenant.version,
            source=tenant,
        )

    @strawberry.field
    def quotas(self) -> Quotas:
        return Quotas.of(self.source.quotas)

    @strawberry.field(description="While it is moved to another table.")
    def move(self) -> TenantMove | None:
        return TenantMove.of(self.source.move) if self.source.move else None

    @strawberry.field(description="Every sharded collection.")
    def shards(self, info: Info) -> list[CollectionShards]:
        counts = info.context.reshards.collections.all_counts(self.source.shards)
        return [CollectionShards.of(*one) for one in counts.items()]

    @strawberry.field(description="Newest first.")
    async def events(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[TenantEvent]:
        page = await info.context.tenants.events(self.source.id, first=page_size(first), after=after)
        return connection(page, TenantEvent.of)


@strawberry.type
class TenantQueries:
    """Questions about tenants."""

    @strawberry.field
    async def tenant(self, info: Info, id: strawberry.ID) -> Tenant | None:
        found = await info.context.tenants.find(parse_tenant_id(id))
        return Tenant.of(found) if found else None

    @strawberry.field(description="Newest first, all of them or those in a status.")
    async def tenants(
        self, info: Info, status: TenantStatus | None = None, first: int | None = 20, after: str | None = None
    ) -> Connection[Tenant]:
        page = await info.context.tenants.newest(status=status, first=page_size(first), after=after)
        return connection(page, Tenant.of)
