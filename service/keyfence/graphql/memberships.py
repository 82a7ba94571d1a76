"""Memberships as tenants see them: edges with attributes, from the user's side and from the group's."""

from collections.abc import Callable
from datetime import datetime

import strawberry

from keyfence.auth.role import Role
from keyfence.domains.groups import model as groups_model
from keyfence.domains.groups.model import GroupRole, MemberId, Membership
from keyfence.domains.groups.repository import group_id as checked_group_id
from keyfence.domains.users import model as users_model
from keyfence.domains.users.model import UserId
from keyfence.domains.users.repository import user_id as checked_user_id
from keyfence.graphql.context import Context, Info
from keyfence.graphql.groups import Group
from keyfence.graphql.paging import PageInfo, page_info
from keyfence.graphql.permissions import mutation
from keyfence.graphql.users import User
from keyfence.store.embedded_edges import Head
from keyfence.store.pagination import Edge

strawberry.enum(GroupRole)


@strawberry.type
class MembershipEdge:
    """What both sides of a membership show."""

    role: GroupRole
    joined_at: datetime
    place: strawberry.Private[Callable[[], str]]

    @strawberry.field
    def cursor(self) -> str:
        return self.place()


@strawberry.type(description="A group that a user is in.")
class UserGroupEdge(MembershipEdge):
    """Seen from the user."""

    node: Group


@strawberry.type(description="A user who is in a group.")
class GroupMemberEdge(MembershipEdge):
    """Seen from the group."""

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
    whole = user if user.head else await context.loaders.users.load(user.id)
    head = whole.head if whole and whole.head else Head()
    page = await context.memberships.of_user(user.id, head, first=first, after=after)
    nodes = await context.loaders.groups.load_many([edge.node.group_id for edge in page.edges])
    edges = [_user_group_edge(edge, node) for edge, node in zip(page.edges, nodes, strict=True) if node]
    return UserGroupConnection(edges=edges, page_info=page_info(page))


async def members_of(
    context: Context, group: groups_model.Group, first: int, after: str | None
) -> GroupMemberConnection:
    whole = group if group.head else await context.loaders.groups.load(group.id)
    head = whole.head if whole and whole.head else Head()
    page = await context.memberships.of_group(group.id, head, first=first, after=after)
    nodes = await context.loaders.users.load_many([UserId(edge.node.user_id) for edge in page.edges])
    edges = [_group_member_edge(edge, node) for edge, node in zip(page.edges, nodes, strict=True) if node]
    return GroupMemberConnection(edges=edges, page_info=page_info(page))


def _user_group_edge(edge: Edge[Membership], group: groups_model.Group) -> UserGroupEdge:
    return UserGroupEdge(role=edge.node.role, joined_at=edge.node.created_at, place=edge.cursor, node=Group.of(group))


def _group_member_edge(edge: Edge[Membership], user: users_model.User) -> GroupMemberEdge:
    return GroupMemberEdge(role=edge.node.role, joined_at=edge.node.created_at, place=edge.cursor, node=User.of(user))


@strawberry.type
class MembershipMutations:
    """Who joins, changes and leaves."""

    @mutation(needs=Role.ADMIN, description="Put a user into a group.")
    async def add_member(
        self, info: Info, group_id: strawberry.ID, user_id: strawberry.ID, role: GroupRole | None = GroupRole.MEMBER
    ) -> GroupMemberEdge:
        edge = await info.context.memberships.add(*_ends(group_id, user_id), role or GroupRole.MEMBER)
        return await _written(info.context, edge)

    @mutation(needs=Role.ADMIN, description="Change what a member is to the group.")
    async def change_member(
        self, info: Info, group_id: strawberry.ID, user_id: strawberry.ID, role: GroupRole
    ) -> GroupMemberEdge:
        edge = await info.context.memberships.change(*_ends(group_id, user_id), role)
        return await _written(info.context, edge)

    @mutation(needs=Role.ADMIN, frees=True, description="Take a user out of a group; false if they were not in it.")
    async def remove_member(self, info: Info, group_id: strawberry.ID, user_id: strawberry.ID) -> bool:
        return await info.context.memberships.remove(*_ends(group_id, user_id))


def _ends(group: str, user: str) -> tuple[groups_model.GroupId, MemberId]:
    return checked_group_id(group, "groupId"), MemberId(checked_user_id(user, "userId"))


async def _written(context: Context, edge: Membership) -> GroupMemberEdge:
    user = await context.users.get(UserId(edge.user_id))
    return _group_member_edge(context.memberships.placed(edge), user)
