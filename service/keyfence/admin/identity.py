"""Identities as operators change them."""

import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.admin.tenants import Tenant
from keyfence.tenancy.repository import checked_tenant


@strawberry.type
class IdentityMutations:
    """Whose tokens open a tenant."""

    @strawberry.mutation(
        description="Other keys for the tenant's issuer: exactly one of `jwks`, which holds all of them, and `jwksUri`."
    )
    async def set_identity(
        self, info: Info, id: strawberry.ID, jwks: JSON | None = None, jwks_uri: str | None = None
    ) -> Tenant:
        return Tenant.of(await info.context.rotation(checked_tenant(id), jwks, jwks_uri))
