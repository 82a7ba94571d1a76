"""Changes of a tenant that stays."""

import strawberry

from keyfence.admin.context import Info
from keyfence.admin.tenants import Tenant
from keyfence.errors import BadInput
from keyfence.tenancy.quotas import Tier
from keyfence.tenancy.repository import checked_tenant


@strawberry.type
class StandingMutations:
    """What can be done to a tenant, again and again."""

    @strawberry.mutation
    async def rename_tenant(
        self, info: Info, id: strawberry.ID, name: str, expected_version: int | None = None
    ) -> Tenant:
        tenant = checked_tenant(id)
        return Tenant.of(await info.context.standing.rename(tenant, name, expected_version=expected_version))

    @strawberry.mutation(description="What was agreed with the tenant alone stays as it is.")
    async def set_tier(self, info: Info, id: strawberry.ID, tier: Tier) -> Tenant:
        return Tenant.of(await info.context.standing.set_tier(checked_tenant(id), tier))

    @strawberry.mutation(description="Agree on quotas with this tenant alone; what is left out stays.")
    async def set_quotas(
        self,
        info: Info,
        id: strawberry.ID,
        requests_per_second: int | None = None,
        read_units_per_second: int | None = None,
        write_units_per_second: int | None = None,
        users: int | None = None,
        storage_mb: int | None = None,
    ) -> Tenant:
        named = {
            "requests_per_second": requests_per_second,
            "read_units_per_second": read_units_per_second,
            "write_units_per_second": write_units_per_second,
            "users": users,
            "storage_mb": storage_mb,
        }
        given = {name: value for name, value in named.items() if value is not None}
        if not given:
            raise BadInput("name at least one quota")
        return Tenant.of(await info.context.standing.set_quotas(checked_tenant(id), given))

    @strawberry.mutation(description="From the next request on nobody of the tenant is served, and no session works.")
    async def suspend_tenant(self, info: Info, id: strawberry.ID, reason: str) -> Tenant:
        return Tenant.of(await info.context.standing.suspend(checked_tenant(id), reason))

    @strawberry.mutation(description="Serve a suspended tenant again.")
    async def resume_tenant(self, info: Info, id: strawberry.ID) -> Tenant:
        return Tenant.of(await info.context.standing.resume(checked_tenant(id)))
