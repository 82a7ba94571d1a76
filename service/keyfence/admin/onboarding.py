"""Onboarding as operators ask for it."""

import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.tenants import Tenant
from keyfence.domains.users.model import User
from keyfence.errors import BadInput
from keyfence.operations.application import Application
from keyfence.operations.onboarding import Onboarded
from keyfence.tenancy.quotas import Tier
from keyfence.tenancy.repository import checked_tenant


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

    def application(self) -> Application:
        if self.jwks is not None and not isinstance(self.jwks, dict):
            raise BadInput('jwks must be a JSON object like {"keys": [...]}', field="jwks")
        return Application(
            id=checked_tenant(self.id),
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
    def of(cls, onboarded: Onboarded) -> "OnboardedTenant":
        return cls(tenant=Tenant.of(onboarded.tenant), owner=JSON(_shown(onboarded.owner)), created=onboarded.created)


@strawberry.type
class OnboardingMutations:
    """How tenants come."""

    @strawberry.mutation(description="Idempotent: the same request again answers with the same tenant.")
    async def onboard_tenant(self, info: Info, input: OnboardTenantInput) -> OnboardedTenant:
        onboarded = await info.context.onboarding(input.application())
        info.context.told(onboarded.tenant)
        return OnboardedTenant.of(onboarded)


def _shown(owner: User) -> dict[str, str]:
    return {"id": owner.id, "email": owner.email, "name": owner.name, "role": owner.role}
