"""GraphQL types, queries and mutations of users, their settings and the viewer."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.auth.principal import Role
from keyfence.domains.activity.graphql import Activity, activity_repository
from keyfence.domains.groups.model import MemberId
from keyfence.domains.sessions.graphql import revocation_repository
from keyfence.domains.users import model
from keyfence.domains.users.model import UserId
from keyfence.domains.users.repository import UserRepository, checked_user_id
from keyfence.errors import Forbidden
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.mutation_checks import mutation, sent_fields
from keyfence.graphql.relay_types import Connection, Node, connection, page_size
from keyfence.store.ids import prefix_of
from keyfence.tenancy import tenant as tenancy

if TYPE_CHECKING:
    from keyfence.domains.groups.graphql import UserGroupConnection


def user_repository(context: Context) -> UserRepository:
    return UserRepository(context.table, quota=context.caller.tenant.quotas.users)


def user_loader(context: Context) -> DataLoader[UserId, model.User | None]:
    return DataLoader(load_fn=context.get(user_repository).find_many)


def setting_loader(context: Context) -> DataLoader[UserId, list[model.Setting]]:
    """Returns a loader of the settings of users. It loads the users first, because their items have the names of the
    settings."""

    async def load(ids: Sequence[UserId]) -> list[list[model.Setting]]:
        users = await context.loader(user_loader).load_many(ids)
        settings_of_each = iter(await context.get(user_repository).settings_of([user for user in users if user]))
        return [next(settings_of_each) if user else [] for user in users]

    return DataLoader(load_fn=load)


async def load_user(context: Context, id: str) -> Node | None:
    user = await context.loader(user_loader).load(UserId(id))
    return User.of(user) if user else None


def require_owner_to_change_owner(context: Context, role: Role) -> None:
    """Raises Forbidden if `role` is OWNER and the caller is not an OWNER."""
    if role is Role.OWNER and context.principal.role is not Role.OWNER:
        raise Forbidden("only an OWNER may create, change or delete an OWNER")


def require_own_user_or_admin(context: Context, user: UserId) -> None:
    """Raises Forbidden unless the token's subject is this user, or the token has the role ADMIN or OWNER."""
    if user != context.principal.subject:
        context.require_role(Role.ADMIN)


strawberry.enum(Role)


@strawberry.type(description="A named value of a user.")
class Setting:
    """A setting with its value as JSON."""

    name: str
    value: JSON

    @classmethod
    def of(cls, setting: model.Setting) -> "Setting":
        return cls(name=setting.name, value=orjson.loads(setting.text))


@strawberry.type(description="A user of this tenant.")
class User(Node):
    """A user. `source` also has the fields that GraphQL does not show."""

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

    @strawberry.field(description="The groups that the user is a member of.")
    async def groups(
        self, info: Info, first: int | None = 20, after: str | None = None
    ) -> Annotated["UserGroupConnection", strawberry.lazy("keyfence.domains.groups.graphql")]:
        from keyfence.domains.groups.graphql import groups_of

        return await groups_of(info.context, self.source, page_size(first), after)

    @strawberry.field(description="The actions of the user in the last 90 days, newest first.")
    async def activity(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Activity]:
        page = await info.context.get(activity_repository).of_user(self.source.id, first=page_size(first), after=after)
        return connection(page, Activity.of)

    @strawberry.field(
        description="The settings of the user. For another user than the caller, this needs the role ADMIN. Without it,"
        " the value is null, with the error FORBIDDEN."
    )
    async def settings(self, info: Info) -> list[Setting] | None:
        require_own_user_or_admin(info.context, self.source.id)
        return [Setting.of(setting) for setting in await info.context.loader(setting_loader).load(self.source.id)]


@strawberry.input
class CreateUserInput:
    """The fields of a new user."""

    email: str
    name: str
    role: Role | None = Role.MEMBER


@strawberry.input
class UpdateUserInput:
    """The fields to change. A field that is left out keeps its value."""

    email: str | None = strawberry.UNSET
    name: str | None = strawberry.UNSET
    role: Role | None = strawberry.UNSET


@strawberry.type
class UserQueries:
    """Queries of users."""

    @strawberry.field
    async def user(self, info: Info, id: strawberry.ID) -> User | None:
        found = await info.context.loader(user_loader).load(checked_user_id(id))
        return User.of(found) if found else None

    @strawberry.field
    async def user_by_email(self, info: Info, email: str) -> User | None:
        found = await info.context.get(user_repository).find_by_email(email)
        return User.of(found) if found else None

    @strawberry.field(description="All users, newest first.")
    async def users(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[User]:
        return connection(await info.context.get(user_repository).newest(first=page_size(first), after=after), User.of)


@strawberry.type
class UserMutations:
    """Mutations of users."""

    @mutation(
        needs=Role.ADMIN,
        description="Create a user. No other user of the tenant may have the same email, in any spelling.",
    )
    async def create_user(self, info: Info, input: CreateUserInput) -> User:
        role = input.role or Role.MEMBER
        require_owner_to_change_owner(info.context, role)
        return User.of(await info.context.get(user_repository).create(email=input.email, name=input.name, role=role))

    @mutation(needs=Role.ADMIN, description="Update a user.")
    async def update_user(
        self, info: Info, id: strawberry.ID, input: UpdateUserInput, expected_version: int | None = None
    ) -> User:
        changes = sent_fields(input)
        require_owner_to_change_owner(info.context, changes.get("role", Role.VIEWER))
        return User.of(
            await info.context.get(user_repository).update(
                checked_user_id(id),
                expected_version=expected_version,
                authorize=lambda user: require_owner_to_change_owner(info.context, user.role),
                **changes,
            )
        )

    @mutation(
        needs=Role.ADMIN,
        frees_storage=True,
        description="Delete a user with their settings and memberships. Revokes all tokens of the user.",
    )
    async def delete_user(self, info: Info, id: strawberry.ID) -> strawberry.ID:
        from keyfence.domains.groups.graphql import membership_repository

        user = checked_user_id(id)
        context = info.context
        await context.get(user_repository).begin_delete(
            user,
            authorize=lambda found: require_owner_to_change_owner(context, found.role),
            also_write=lambda: context.get(revocation_repository).revoke_all_tokens_of(user, context.principal.subject),
        )
        await context.get(membership_repository).remove_user(MemberId(user))
        await context.get(user_repository).finish_delete(user)
        return id

    @mutation(
        needs=Role.MEMBER, description="Set a named value of a user. Only an ADMIN can set values of other users."
    )
    async def put_setting(self, info: Info, user_id: strawberry.ID, name: str, value: JSON) -> Setting:
        owner = checked_user_id(user_id, "userId")
        require_own_user_or_admin(info.context, owner)
        return Setting.of(await info.context.get(user_repository).put_setting(owner, name, value))


@strawberry.type(description="The tenant of the caller.")
class Tenant:
    """The fields of a tenant that its own users may see."""

    id: strawberry.ID
    name: str
    tier: str
    created_at: datetime

    @classmethod
    def of(cls, tenant: tenancy.Tenant) -> "Tenant":
        return cls(id=strawberry.ID(tenant.id), name=tenant.name, tier=str(tenant.tier), created_at=tenant.created_at)


@strawberry.type(description="The caller.")
class Viewer:
    """The caller, with the subject and the role of the token."""

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
    """The query of the caller."""

    @strawberry.field
    async def viewer(self, info: Info) -> Viewer:
        caller = info.context.caller
        return Viewer(tenant=Tenant.of(caller.tenant), subject=caller.principal.subject, role=caller.principal.role)
