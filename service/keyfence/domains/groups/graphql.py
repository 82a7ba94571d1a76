"""GraphQL types, queries and mutations of groups and memberships."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.groups import model
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.model import GroupId, GroupRole, MemberId, Membership
from keyfence.domains.groups.repository import GroupRepository, checked_group_id
from keyfence.domains.users import model as users_model
from keyfence.domains.users.graphql import User, user_loader, user_repository
from keyfence.domains.users.model import UserId
from keyfence.domains.users.repository import checked_user_id
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.mutation_checks import mutation, sent_fields
from keyfence.graphql.relay_types import Connection, Node, PageInfo, connection, page_info, page_size
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.store.pagination import Edge


def group_repository(context: Context) -> GroupRepository:
    return GroupRepository(context.table)


def membership_repository(context: Context) -> MembershipRepository:
    return MembershipRepository(context.table)


def group_loader(context: Context) -> DataLoader[GroupId, model.Group | None]:
    return DataLoader(load_fn=context.get(group_repository).find_many)


async def load_group(context: Context, id: str) -> Node | None:
    group = await context.loader(group_loader).load(GroupId(id))
    return Group.of(group) if group else None


@strawberry.type(description="A named group of users.")
class Group(Node):
    """A group. `source` also has the fields that GraphQL does not show."""

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

    @strawberry.field(description="The members of the group.")
    async def members(
        self, info: Info, first: int | None = 20, after: str | None = None
    ) -> Annotated["GroupMemberConnection", strawberry.lazy("keyfence.domains.groups.graphql")]:
        return await members_of(info.context, self.source, page_size(first), after)


@strawberry.input
class CreateGroupInput:
    """The fields of a new group."""

    name: str
    description: str | None = None


@strawberry.input
class UpdateGroupInput:
    """The fields to change. A field that is left out keeps its value."""

    name: str | None = strawberry.UNSET
    description: str | None = strawberry.UNSET


@strawberry.type
class GroupQueries:
    """Queries of groups."""

    @strawberry.field
    async def group(self, info: Info, id: strawberry.ID) -> Group | None:
        found = await info.context.loader(group_loader).load(checked_group_id(id))
        return Group.of(found) if found else None

    @strawberry.field(description="All groups, sorted by name.")
    async def groups(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Group]:
        return connection(
            await info.context.get(group_repository).by_name(first=page_size(first), after=after), Group.of
        )


@strawberry.type
class GroupMutations:
    """Mutations of groups."""

    @mutation(needs=Role.ADMIN, description="Create a group.")
    async def create_group(self, info: Info, input: CreateGroupInput) -> Group:
        return Group.of(await info.context.get(group_repository).create(name=input.name, description=input.description))

    @mutation(needs=Role.ADMIN, description="Update a group.")
    async def update_group(
        self, info: Info, id: strawberry.ID, input: UpdateGroupInput, expected_version: int | None = None
    ) -> Group:
        changes = sent_fields(input, clearable=frozenset({"description"}))
        updated = await info.context.get(group_repository).update(
            checked_group_id(id), expected_version=expected_version, **changes
        )
        return Group.of(updated)

    @mutation(needs=Role.ADMIN, frees_storage=True, description="Delete a group and all its memberships.")
    async def delete_group(self, info: Info, id: strawberry.ID) -> strawberry.ID:
        group = checked_group_id(id)
        await info.context.get(group_repository).begin_delete(group)
        await info.context.get(membership_repository).clear_group(group)
        await info.context.get(group_repository).finish_delete(group)
        return id


strawberry.enum(GroupRole)


@strawberry.type
class MembershipEdge:
    """The fields that an edge from a user to a group and an edge from a group to a user have in common."""

    role: GroupRole
    joined_at: datetime
    make_cursor: strawberry.Private[Callable[[], str]]

    @strawberry.field
    def cursor(self) -> str:
        return self.make_cursor()


@strawberry.type(description="A group that a user is a member of.")
class UserGroupEdge(MembershipEdge):
    """An edge in the list of a user's groups."""

    node: Group


@strawberry.type(description="A user who is a member of a group.")
class GroupMemberEdge(MembershipEdge):
    """An edge in the list of a group's members."""

    node: User


@strawberry.type
class UserGroupConnection:
    """A page of a user's groups."""

    edges: list[UserGroupEdge]
    page_info: PageInfo


@strawberry.type
class GroupMemberConnection:
    """A page of a group's members."""

    edges: list[GroupMemberEdge]
    page_info: PageInfo


async def groups_of(context: Context, user: users_model.User, first: int, after: str | None) -> UserGroupConnection:
    """Returns a page of the user's groups.

    If the user was read from an index, reads the user from the table first. An index has no embedded edges."""
    complete_user = user if user.embedded_edges else await context.loader(user_loader).load(user.id)
    embedded = complete_user.embedded_edges if complete_user and complete_user.embedded_edges else EmbeddedEdges()
    page = await context.get(membership_repository).of_user(user.id, embedded, first=first, after=after)
    nodes = await context.loader(group_loader).load_many([edge.node.group_id for edge in page.edges])
    edges = [_user_group_edge(edge, node) for edge, node in zip(page.edges, nodes, strict=True) if node]
    return UserGroupConnection(edges=edges, page_info=page_info(page))


async def members_of(context: Context, group: model.Group, first: int, after: str | None) -> GroupMemberConnection:
    """Returns a page of the group's members.

    If the group was read from an index, reads the group from the table first. An index has no embedded edges."""
    complete_group = group if group.embedded_edges else await context.loader(group_loader).load(group.id)
    embedded = complete_group.embedded_edges if complete_group and complete_group.embedded_edges else EmbeddedEdges()
    page = await context.get(membership_repository).of_group(group.id, embedded, first=first, after=after)
    nodes = await context.loader(user_loader).load_many([UserId(edge.node.user_id) for edge in page.edges])
    edges = [_group_member_edge(edge, node) for edge, node in zip(page.edges, nodes, strict=True) if node]
    return GroupMemberConnection(edges=edges, page_info=page_info(page))


def _user_group_edge(edge: Edge[Membership], group: model.Group) -> UserGroupEdge:
    return UserGroupEdge(
        role=edge.node.role, joined_at=edge.node.created_at, make_cursor=edge.cursor, node=Group.of(group)
    )


def _group_member_edge(edge: Edge[Membership], user: users_model.User) -> GroupMemberEdge:
    return GroupMemberEdge(
        role=edge.node.role, joined_at=edge.node.created_at, make_cursor=edge.cursor, node=User.of(user)
    )


@strawberry.type
class MembershipMutations:
    """Mutations of memberships."""

    @mutation(needs=Role.ADMIN, description="Add a user to a group.")
    async def add_member(
        self, info: Info, group_id: strawberry.ID, user_id: strawberry.ID, role: GroupRole | None = GroupRole.MEMBER
    ) -> GroupMemberEdge:
        membership = await info.context.get(membership_repository).add(
            *_checked_ids(group_id, user_id), role or GroupRole.MEMBER
        )
        return await _edge_of_membership(info.context, membership)

    @mutation(needs=Role.ADMIN, description="Change the role of a member in the group.")
    async def change_member(
        self, info: Info, group_id: strawberry.ID, user_id: strawberry.ID, role: GroupRole
    ) -> GroupMemberEdge:
        membership = await info.context.get(membership_repository).change(*_checked_ids(group_id, user_id), role)
        return await _edge_of_membership(info.context, membership)

    @mutation(
        needs=Role.ADMIN,
        frees_storage=True,
        description="Remove a user from a group. Returns false if the user was not a member.",
    )
    async def remove_member(self, info: Info, group_id: strawberry.ID, user_id: strawberry.ID) -> bool:
        return await info.context.get(membership_repository).remove(*_checked_ids(group_id, user_id))


def _checked_ids(group: str, user: str) -> tuple[model.GroupId, MemberId]:
    return checked_group_id(group, "groupId"), MemberId(checked_user_id(user, "userId"))


async def _edge_of_membership(context: Context, membership: Membership) -> GroupMemberEdge:
    user = await context.get(user_repository).get(UserId(membership.user_id))
    return _group_member_edge(context.get(membership_repository).with_cursor(membership), user)
