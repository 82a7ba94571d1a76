"""Onboard, rename, tier, quotas, suspend, resume, keys."""

import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.onboarding import OnboardingRequest, OnboardingResult
from keyfence.admin.tenants import Tenant
from keyfence.domains.users.model import User
from keyfence.errors import BadInput
from keyfence.tenancy.repository import parse_tenant_id
from keyfence.tenancy.tier_quotas import Tier


@strawberry.type
class TenantMutations:
    """Mutations that change a tenant. Each can be repeated."""

    @strawberry.mutation
    async def rename_tenant(
        self, info: Info, id: strawberry.ID, name: str, expected_version: int | None = None
    ) -> Tenant:
        tenant = parse_tenant_id(id)
        return Tenant.of(await info.context.administration.rename(tenant, name, expected_version=expected_version))

    @strawberry.mutation(description="What was agreed with the tenant alone stays as it is.")
    async def set_tier(self, info: Info, id: strawberry.ID, tier: Tier) -> Tenant:
        return Tenant.of(await info.context.administration.set_tier(parse_tenant_id(id), tier))

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
        return Tenant.of(await info.context.administration.set_quotas(parse_tenant_id(id), given))

    @strawberry.mutation(description="From the next request on nobody of the tenant is served, and no session works.")
    async def suspend_tenant(self, info: Info, id: strawberry.ID, reason: str) -> Tenant:
        return Tenant.of(await info.context.administration.suspend(parse_tenant_id(id), reason))

    @strawberry.mutation(description="Serve a suspended tenant again.")
    async def resume_tenant(self, info: Info, id: strawberry.ID) -> Tenant:
        return Tenant.of(await info.context.administration.resume(parse_tenant_id(id)))


@strawberry.type
class IssuerMutations:
    """Whose tokens open a tenant."""

    @strawberry.mutation(
        description="Other keys for the tenant's issuer: exactly one of `jwks`, which holds all of them, and `jwksUri`."
    )
    async def set_issuer_keys(
        self, info: Info, id: strawberry.ID, jwks: JSON | None = None, jwks_uri: str | None = None
    ) -> Tenant:
        return Tenant.of(await info.context.rotation(parse_tenant_id(id), jwks, jwks_uri))


@strawberry.input
class OnboardTenantInput:
    """An application; exactly one of `jwks` and `jwksUri` names the keys of the tenant's identity provider."""

    id: strawberry.ID
    name: str
    tier: Tier | None = Tier.STANDARD
    owner_email: str
    owner_name: str
    issuer: str
    jwks: JSON | None = None
    jwks_uri: str | None = None

    def application(self) -> OnboardingRequest:
        if self.jwks is not None and not isinstance(self.jwks, dict):
            raise BadInput('jwks must be a JSON object like {"keys": [...]}', field="jwks")
        return OnboardingRequest(
            id=parse_tenant_id(self.id),
            name=self.name,
            tier=self.tier or Tier.STANDARD,
            owner_email=self.owner_email,
            owner_name=self.owner_name,
            issuer=self.issuer,
            jwks=self.jwks,
            jwks_uri=self.jwks_uri,
        )


@strawberry.type(description="A tenant that is served from now on.")
class OnboardedTenant:
    """`created` is false when the same request came again."""

    tenant: Tenant
    owner: JSON
    created: bool

    @classmethod
    def of(cls, onboarded: OnboardingResult) -> "OnboardedTenant":
        return cls(tenant=Tenant.of(onboarded.tenant), owner=JSON(_shown(onboarded.owner)), created=onboarded.created)


@strawberry.type
class OnboardingMutations:
    """How tenants come."""

    @strawberry.mutation(description="Idempotent: the same request again answers with the same tenant.")
    async def onboard_tenant(self, info: Info, input: OnboardTenantInput) -> OnboardedTenant:
        onboarded = await info.context.onboarding(input.application())
        info.context.on_tenant_changed(onboarded.tenant)
        return OnboardedTenant.of(onboarded)


def _shown(owner: User) -> dict[str, str]:
    return {"id": owner.id, "email": owner.email, "name": owner.name, "role": owner.role}
