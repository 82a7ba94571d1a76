"""Groups as tenants see them."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import strawberry

from keyfence.auth.role import Role
from keyfence.domains.groups import model
from keyfence.domains.groups.repository import group_id
from keyfence.graphql.changes import changes
from keyfence.graphql.context import Info
from keyfence.graphql.node import Node
from keyfence.graphql.paging import Connection, connection, size
from keyfence.graphql.permissions import mutation

if TYPE_CHECKING:
    from keyfence.graphql.memberships import GroupMemberConnection


@strawberry.type(description="Users under one name.")
class Group(Node):
    """A group, with who is in it."""

    name: str
    description: str | None
    created_at: datetime
    updated_at: datetime
    version: int
    member_count: int
    source: strawberry.Private[model.Group]

    @classmethod
    def of(cls, group: model.Group) -> "Group":
        return cls(
            id=strawberry.ID(group.id),
            name=group.name,
            description=group.description,
            created_at=group.created_at,
            updated_at=group.updated_at,
            version=group.version,
            member_count=group.member_count,
            source=group,
        )

    @strawberry.field(description="The users in the group.")
    async def members(
        self, info: Info, first: int | None = 20, after: str | None = None
    ) -> Annotated["GroupMemberConnection", strawberry.lazy("keyfence.graphql.memberships")]:
        from keyfence.graphql.memberships import members_of

        return await members_of(info.context, self.source, size(first), after)


@strawberry.input
class CreateGroupInput:
    """A new group."""

    name: str
    description: str | None = None


@strawberry.input
class UpdateGroupInput:
    """What to change; what is left out stays."""

    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET


@strawberry.type
class GroupQueries:
    """Questions about groups."""

    @strawberry.field
    async def group(self, info: Info, id: strawberry.ID) -> Group | None:
        found = await info.context.loaders.groups.load(group_id(id))
        return Group.of(found) if found else None

    @strawberry.field(description="By name.")
    async def groups(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Group]:
        return connection(await info.context.groups.by_name(first=size(first), after=after), Group.of)


@strawberry.type
class GroupMutations:
    """What can be done to groups."""

    @mutation(needs=Role.ADMIN, description="Add a group.")
    async def create_group(self, info: Info, input: CreateGroupInput) -> Group:
        return Group.of(await info.context.groups.create(name=input.name, description=input.description))

    @mutation(needs=Role.ADMIN, description="Change a group.")
    async def update_group(
        self, info: Info, id: strawberry.ID, input: UpdateGroupInput, expected_version: int | None = None
    ) -> Group:
        wanted = changes(input, clearable=frozenset({"description"}))
        updated = await info.context.groups.update(group_id(id), expected_version=expected_version, **wanted)
        return Group.of(updated)

    @mutation(needs=Role.ADMIN, frees=True, description="Remove a group and all its memberships.")
    async def delete_group(self, info: Info, id: strawberry.ID) -> strawberry.ID:
        group = group_id(id)
        await info.context.groups.begin_delete(group)
        await info.context.memberships.clear_group(group)
        await info.context.groups.finish_delete(group)
        return id
