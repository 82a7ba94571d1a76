"""Who is asking."""

from datetime import datetime

import strawberry

from keyfence.auth.role import Role
from keyfence.domains.users.model import UserId
from keyfence.graphql.context import Info
from keyfence.graphql.users import User
from keyfence.store.ids import prefix_of
from keyfence.tenancy import model


@strawberry.type(description="The tenant that the token is for.")
class Tenant:
    """What a tenant's own users see of it."""

    id: strawberry.ID
    name: str
    tier: str
    created_at: datetime

    @classmethod
    def of(cls, tenant: model.Tenant) -> "Tenant":
        return cls(id=strawberry.ID(tenant.id), name=tenant.name, tier=str(tenant.tier), created_at=tenant.created_at)


@strawberry.type(description="The caller.")
class Viewer:
    """What the token says of its bearer."""

    tenant: Tenant
    subject: str
    role: Role

    @strawberry.field(description="The user whose id is the token's subject, if there is one.")
    async def user(self, info: Info) -> User | None:
        if prefix_of(self.subject) != "usr":
            return None
        found = await info.context.loaders.users.load(UserId(self.subject))
        return User.of(found) if found else None


@strawberry.type
class ViewerQueries:
    """Questions about oneself."""

    @strawberry.field
    async def viewer(self, info: Info) -> Viewer:
        caller = info.context.caller
        return Viewer(tenant=Tenant.of(caller.tenant), subject=caller.principal.subject, role=caller.principal.role)
