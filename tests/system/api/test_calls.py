"""Each field costs a fixed number of DynamoDB calls, whatever the size of the tenant, and none of them is a Scan.

Every request also costs one BatchGetItem, which checks whether the token is revoked."""

from typing import Any

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.model import Group, GroupRole, MemberId
from keyfence.domains.groups.repository import GroupRepository
from keyfence.domains.users.model import User
from keyfence.domains.users.repository import UserRepository
from tests.stack import ApiClient, ServiceStack

COUNT = 20
"""The number of users, and of groups."""
MEMBERS_PER_GROUP = 3

NESTED = "user(id: $id) { groups { edges { node { members { edges { node { name } } } } } } }"

COSTS: dict[str, list[str]] = {
    "viewer { role tenant { name tier } subject }": [],
    "viewer { user { name } }": [],
    "node(id: $id) { id }": ["BatchGetItem"],
    "user(id: $id) { name }": ["BatchGetItem"],
    "user(id: $id) { settings { name value } }": ["BatchGetItem", "BatchGetItem"],
    'userByEmail(email: "0@x.example") { name }': ["Query"],
    "users { edges { cursor node { name email role createdAt } } pageInfo { hasNextPage endCursor } }": ["Query"],
    "users { edges { node { settings { name } } } }": ["Query", "BatchGetItem", "BatchGetItem"],
    "users { edges { node { groups { edges { role node { name } } } } } }": ["Query", "BatchGetItem", "BatchGetItem"],
    "group(id: $group) { name memberCount }": ["BatchGetItem"],
    "group(id: $group) { members { edges { role joinedAt node { name } } } }": ["BatchGetItem", "BatchGetItem"],
    "groups { edges { node { name memberCount } } }": ["Query"],
    "groups { edges { node { members { edges { node { name } } } } } }": ["Query", "BatchGetItem", "BatchGetItem"],
    "user(id: $id) { groups { edges { node { name } } } }": ["BatchGetItem", "BatchGetItem"],
    NESTED: ["BatchGetItem", "BatchGetItem", "BatchGetItem"],
}


@pytest.fixture
async def users_and_groups(stack: ServiceStack, owner: ApiClient) -> tuple[list[User], list[Group]]:
    """Returns 20 users and 20 groups. Each group has the first three users as members."""
    table = stack.table(owner.tenant)
    users = [
        await UserRepository(table).create(email=f"{n}@x.example", name=f"U{n}", role=Role.MEMBER) for n in range(COUNT)
    ]
    for user in users:
        await UserRepository(table).put_setting(user.id, "theme", "dark")
    groups = [await GroupRepository(table).create(name=f"G{n:02}", description=None) for n in range(COUNT)]
    for group in groups:
        for user in users[:MEMBERS_PER_GROUP]:
            await MembershipRepository(table).add(group.id, MemberId(user.id), GroupRole.MEMBER)
    return users, groups


async def test_each_field_costs_a_fixed_number_of_calls(
    stack: ServiceStack, owner: ApiClient, users_and_groups: tuple[list[User], list[Group]]
) -> None:
    (user, *_), (group, *_) = users_and_groups
    for field, expected in COSTS.items():
        await owner.data("{ viewer { subject } }")
        stack.take_calls()
        data = await owner.data(_query(field), **_variables(field, user, group))
        calls = stack.take_calls()
        (revocation_check,) = [call for call in calls if call.is_revocation_check]
        assert [call.operation for call in calls if call is not revocation_check] == expected, field
        assert not _has_empty_list(data), field
        for call in calls:
            assert "FilterExpression" not in call.parameters
            assert "ScanFilter" not in call.parameters


async def test_the_nested_list_returns_all_users(
    owner: ApiClient, users_and_groups: tuple[list[User], list[Group]]
) -> None:
    (user, *_), _ = users_and_groups
    data = await owner.data(_query(NESTED), id=user.id)
    groups = data["user"]["groups"]["edges"]
    assert [len(edge["node"]["members"]["edges"]) for edge in groups] == [MEMBERS_PER_GROUP] * COUNT


def _query(field: str) -> str:
    parameters = [f"${name}: ID!" for name in ("id", "group") if f"${name}" in field]
    return f"query({', '.join(parameters)}) {{ {field} }}" if parameters else f"{{ {field} }}"


def _variables(field: str, user: User, group: Group) -> dict[str, Any]:
    return {name: node.id for name, node in (("id", user), ("group", group)) if f"${name}" in field}


def _has_empty_list(value: Any) -> bool:
    """Whether a part of the answer is empty, so that its cost says nothing."""
    if isinstance(value, dict):
        return any(_has_empty_list(part) for name, part in value.items() if name != "user")
    return isinstance(value, list) and not value
