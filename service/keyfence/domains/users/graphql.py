"""User, viewer, settings, queries, mutations."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import orjson
import strawberry
from strawberry.dataloader import DataLoader
from strawberry.scalars import JSON

from keyfence.auth.principal import Role
from keyfence.domains.activity.graphql import Activity, activity_repository
from keyfence.domains.groups.model import MemberId
from keyfence.domains.users import model
from keyfence.domains.users.model import UserId
from keyfence.domains.users.repository import UserRepository
from keyfence.domains.users.repository import user_id as checked_user_id
from keyfence.errors import Forbidden
from keyfence.graphql.context import Context, Info
from keyfence.graphql.mutations import given_fields, mutation
from keyfence.graphql.relay import Connection, Node, connection, page_size
from keyfence.store.ids import prefix_of
from keyfence.tenancy import tenant as tenancy_tenant

if TYPE_CHECKING:
    from keyfence.domains.groups.graphql import UserGroupConnection


def user_repository(context: Context) -> UserRepository:
    return UserRepository(context.table, quota=context.caller.tenant.quotas.users)


def user_loader(context: Context) -> DataLoader[UserId, model.User | None]:
    return DataLoader(load_fn=context.get(user_repository).find_many)


def setting_loader(context: Context) -> DataLoader[UserId, list[model.Setting]]:
    """Loads users first, since the user's own item has the names of the settings."""

    async def load(ids: Sequence[UserId]) -> list[list[model.Setting]]:
        users = await context.loader(user_loader).load_many(ids)
        settings = iter(await context.get(user_repository).settings_of([user for user in users if user]))
        return [next(settings) if user else [] for user in users]

    return DataLoader(load_fn=load)


async def load_user(context: Context, id: str) -> Node | None:
    user = await context.loader(user_loader).load(UserId(id))
    return User.of(user) if user else None


def require_owner_for_owner(context: Context, role: Role) -> None:
    """An owner is made, changed and removed by owners alone."""
    if role is Role.OWNER and context.principal.role is not Role.OWNER:
        raise Forbidden("only an OWNER may do this to an OWNER")


strawberry.enum(Role)


@strawberry.type(description="A named value of a user.")
class Setting:
    """The value as it was put."""

    name: str
    value: JSON

    @classmethod
    def of(cls, setting: model.Setting) -> "Setting":
        return cls(name=setting.name, value=orjson.loads(setting.text))


@strawberry.type(description="A person in this tenant.")
class User(Node):
    """A user, with what hangs on them."""

    email: str
    name: str
    role: Role
    created_at: datetime
    updated_at: datetime
    version: int
    source: strawberry.Private[model.User]

    @classmethod
    def of(cls, user: model.User) -> "User":
        return cls(
            id=strawberry.ID(user.id),
            email=user.email,
            name=user.name,
            role=user.role,
            created_at=user.created_at,
            updated_at=user.updated_at,
            version=user.version,
            source=user,
        )

    @strawberry.field(description="The groups that the user is in.")
    async def groups(
        self, info: Info, first: int | None = 20, after: str | None = None
    ) -> Annotated["UserGroupConnection", strawberry.lazy("keyfence.domains.groups.graphql")]:
        from keyfence.domains.groups.graphql import groups_of

        return await groups_of(info.context, self.source, page_size(first), after)

    @strawberry.field(description="What the user did, newest first, of the last 90 days.")
    async def activity(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Activity]:
        page = await info.context.get(activity_repository).of_user(self.source.id, first=page_size(first), after=after)
        return connection(page, Activity.of)

    @strawberry.field
    async def settings(self, info: Info) -> list[Setting]:
        return [Setting.of(setting) for setting in await info.context.loader(setting_loader).load(self.source.id)]


@strawberry.input
class CreateUserInput:
    """A new user."""

    email: str
    name: str
    role: Role | None = Role.MEMBER


@strawberry.input
class UpdateUserInput:
    """What to change; what is left out stays."""

    email: str | None = strawberry.UNSET
    name: str | None = strawberry.UNSET
    role: Role | None = strawberry.UNSET


@strawberry.type
class UserQueries:
    """Questions about users."""

    @strawberry.field
    async def user(self, info: Info, id: strawberry.ID) -> User | None:
        found = await info.context.loader(user_loader).load(checked_user_id(id))
        return User.of(found) if found else None

    @strawberry.field
    async def user_by_email(self, info: Info, email: str) -> User | None:
        found = await info.context.get(user_repository).find_by_email(email)
        return User.of(found) if found else None

    @strawberry.field(description="Newest first.")
    async def users(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[User]:
        return connection(await info.context.get(user_repository).newest(first=page_size(first), after=after), User.of)


@strawberry.type
class UserMutations:
    """What can be done to users."""

    @mutation(needs=Role.ADMIN, description="Add a user with an email that nobody else in the tenant has.")
    async def create_user(self, info: Info, input: CreateUserInput) -> User:
        role = input.role or Role.MEMBER
        require_owner_for_owner(info.context, role)
        return User.of(await info.context.get(user_repository).create(email=input.email, name=input.name, role=role))

    @mutation(needs=Role.ADMIN, description="Change a user.")
    async def update_user(
        self, info: Info, id: strawberry.ID, input: UpdateUserInput, expected_version: int | None = None
    ) -> User:
        wanted = given_fields(input)
        require_owner_for_owner(info.context, wanted.get("role", Role.VIEWER))
        return User.of(
            await info.context.get(user_repository).update(
                checked_user_id(id),
                expected_version=expected_version,
                allowed=lambda user: require_owner_for_owner(info.context, user.role),
                **wanted,
            )
        )

    @mutation(needs=Role.ADMIN, frees=True, description="Remove a user, their settings and their memberships.")
    async def delete_user(self, info: Info, id: strawberry.ID) -> strawberry.ID:
        from keyfence.domains.groups.graphql import membership_repository

        user = checked_user_id(id)
        context = info.context
        await context.get(user_repository).begin_delete(
            user, allowed=lambda found: require_owner_for_owner(context, found.role)
        )
        await context.get(membership_repository).remove_user(MemberId(user))
        await context.get(user_repository).finish_delete(user)
        return id

    @mutation(needs=Role.MEMBER, description="Set a named value of one's own, or as an ADMIN of anybody.")
    async def put_setting(self, info: Info, user_id: strawberry.ID, name: str, value: JSON) -> Setting:
        whose = checked_user_id(user_id, "userId")
        if whose != info.context.principal.subject:
            info.context.require(Role.ADMIN)
        return Setting.of(await info.context.get(user_repository).put_setting(whose, name, value))


@strawberry.type(description="The tenant that the token is for.")
class Tenant:
    """What a tenant's own users see of it."""

    id: strawberry.ID
    name: str
    tier: str
    created_at: datetime

    @classmethod
    def of(cls, tenant: tenancy_tenant.Tenant) -> "Tenant":
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
        found = await info.context.loader(user_loader).load(UserId(self.subject))
        return User.of(found) if found else None


@strawberry.type
class ViewerQueries:
    """Questions about oneself."""

    @strawberry.field
    async def viewer(self, info: Info) -> Viewer:
        caller = info.context.caller
        return Viewer(tenant=Tenant.of(caller.tenant), subject=caller.principal.subject, role=caller.principal.role)
