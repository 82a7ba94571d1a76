"""Mutations of the operators' API that onboard a tenant or change it."""

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
    """Mutations that change a tenant. An operator can safely send each of them again."""

    @strawberry.mutation(
        description="Renames a tenant. If `expectedVersion` is given, the tenant must have that version."
    )
    async def rename_tenant(
        self, info: Info, id: strawberry.ID, name: str, expected_version: int | None = None
    ) -> Tenant:
        tenant_id = parse_tenant_id(id)
        return Tenant.of(await info.context.administration.rename(tenant_id, name, expected_version=expected_version))

    @strawberry.mutation(description="Changes the tier of a tenant. Quotas that were set for the tenant stay.")
    async def set_tier(self, info: Info, id: strawberry.ID, tier: Tier) -> Tenant:
        return Tenant.of(await info.context.administration.set_tier(parse_tenant_id(id), tier))

    @strawberry.mutation(
        description="Sets quotas for this tenant, which replace the quotas of its tier. Quotas that are left out stay."
    )
    async def set_quotas(
        self,
        info: Info,
        id: strawberry.ID,
        requests_per_second: int | None = None,
        read_units_per_second: int | None = None,
        write_units_per_second: int | None = None,
        cpu_ms_per_second: int | None = None,
        users: int | None = None,
        storage_mb: int | None = None,
    ) -> Tenant:
        quotas = {
            "requests_per_second": requests_per_second,
            "read_units_per_second": read_units_per_second,
            "write_units_per_second": write_units_per_second,
            "cpu_ms_per_second": cpu_ms_per_second,
            "users": users,
            "storage_mb": storage_mb,
        }
        changes = {name: value for name, value in quotas.items() if value is not None}
        if not changes:
            raise BadInput("the request has no quota; give at least one")
        return Tenant.of(await info.context.administration.set_quotas(parse_tenant_id(id), changes))

    @strawberry.mutation(
        description="Replaces the origins of web pages that may call the API for this tenant, such as "
        "`https://app.example.com`. Servers check them only if KEYFENCE_TENANT_ORIGINS is true."
    )
    async def set_origins(self, info: Info, id: strawberry.ID, origins: list[str]) -> Tenant:
        return Tenant.of(await info.context.administration.set_origins(parse_tenant_id(id), origins))

    @strawberry.mutation(
        description="Suspends a tenant. Requests of its users are refused, and IAM denies its sessions."
    )
    async def suspend_tenant(self, info: Info, id: strawberry.ID, reason: str) -> Tenant:
        return Tenant.of(await info.context.administration.suspend(parse_tenant_id(id), reason))

    @strawberry.mutation(description="Makes a suspended tenant active again.")
    async def resume_tenant(self, info: Info, id: strawberry.ID) -> Tenant:
        return Tenant.of(await info.context.administration.resume(parse_tenant_id(id)))


@strawberry.type
class IssuerMutations:
    @strawberry.mutation(
        description="Replaces the keys or the claim mapping of the tenant's issuer. For the keys give one of: `jwks`, "
        "with all keys; `jwksUri`; `discover`, to fetch the keys that the issuer's metadata name. `mapping` replaces "
        "the claim mapping; an empty object removes it. What is left out stays."
    )
    async def set_identity(
        self,
        info: Info,
        id: strawberry.ID,
        jwks: JSON | None = None,
        jwks_uri: str | None = None,
        discover: bool = False,
        mapping: JSON | None = None,
    ) -> Tenant:
        rotate = info.context.rotate_issuer_keys
        return Tenant.of(await rotate(parse_tenant_id(id), jwks, jwks_uri, discover=discover, mapping=mapping))


@strawberry.input(
    description="A new tenant with its owner and its issuer. Give at most one of `jwks` and `jwksUri`; without both, "
    "the keys are those that the issuer's metadata name. `mapping` says which claims the issuer's tokens have."
)
class OnboardTenantInput:
    id: strawberry.ID
    name: str
    tier: Tier | None = Tier.STANDARD
    owner_email: str
    owner_name: str
    issuer: str
    jwks: JSON | None = None
    jwks_uri: str | None = None
    mapping: JSON | None = None

    def request(self) -> OnboardingRequest:
        if self.jwks is not None and not isinstance(self.jwks, dict):
            raise BadInput('jwks must be a JSON object like {"keys": [...]}', field="jwks")
        if self.mapping is not None and not isinstance(self.mapping, dict):
            raise BadInput("mapping must be a JSON object", field="mapping")
        return OnboardingRequest(
            id=parse_tenant_id(self.id),
            name=self.name,
            tier=self.tier or Tier.STANDARD,
            owner_email=self.owner_email,
            owner_name=self.owner_name,
            issuer=self.issuer,
            jwks=self.jwks,
            jwks_uri=self.jwks_uri,
            mapping=self.mapping,
        )


@strawberry.type(description="A tenant that was onboarded, and its owner.")
class OnboardedTenant:
    tenant: Tenant
    owner: JSON
    created: bool = strawberry.field(description="False if the same request was sent before.")

    @classmethod
    def of(cls, result: OnboardingResult) -> "OnboardedTenant":
        return cls(tenant=Tenant.of(result.tenant), owner=JSON(_owner_json(result.owner)), created=result.created)


@strawberry.type
class OnboardingMutations:
    @strawberry.mutation(
        description="Sets up a new tenant with its issuer and its owner. The same request sent again returns the same "
        "tenant."
    )
    async def onboard_tenant(self, info: Info, input: OnboardTenantInput) -> OnboardedTenant:
        result = await info.context.onboard(input.request())
        info.context.on_tenant_changed(result.tenant)
        return OnboardedTenant.of(result)


def _owner_json(owner: User) -> dict[str, str]:
    return {"id": owner.id, "email": owner.email, "name": owner.name, "role": owner.role}
