"""The embedded edges of a user and a group equal their membership, even if other requests write at the same time."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from keyfence.auth.principal import Role
from keyfence.domains.groups.access_patterns import group_by_id, groups, member_by_id, membership_of_user
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.model import Group, GroupId, GroupRole, MemberId
from keyfence.domains.users.access_patterns import users
from keyfence.domains.users.model import User, UserId
from keyfence.store.codec import Item
from keyfence.store.dynamodb.client import Answer
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.store.ids import new_id
from keyfence_iam.credentials import Credentials
from tests.data.bookshop import OPENING
from tests.fakes.dynamodb import InMemoryDynamoDB
from tests.fakes.scripted_dynamodb import table

GROUP, USER = GroupId(new_id("grp")), MemberId(new_id("usr"))


@dataclass
class InterruptedDynamoDB(InMemoryDynamoDB):
    """Calls `interruption` once, just before the `operation`. A GetItem counts only if it reads a membership."""

    operation: str = ""
    interruption: Callable[[], Awaitable[object]] | None = None

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        interrupt = self.interruption
        if interrupt and operation == self.operation and ("Key" not in parameters or _is_membership(parameters["Key"])):
            self.interruption = None
            await interrupt()
        return await super().call(operation, parameters, credentials)


def _is_membership(key: Item) -> bool:
    return bool(key["SK"]["S"].startswith("GROUP#"))


def new_database(interrupted_operation: str = "") -> InterruptedDynamoDB:
    database = InterruptedDynamoDB(operation=interrupted_operation)
    times: dict[str, Any] = {"created_at": OPENING, "updated_at": OPENING, "embedded_edges": EmbeddedEdges()}
    database.store(groups, Group(id=GROUP, name="Ops", **times))
    database.store(users, User(id=UserId(USER), email="a@b", name="Ann", role=Role.MEMBER, **times))
    return database


def new_repository(database: InMemoryDynamoDB) -> MembershipRepository:
    days = count(1)

    def now() -> datetime:
        return OPENING + timedelta(days=next(days))

    return MembershipRepository(table(database, consistent=True), now=now)


async def check_embedded_edges(database: InMemoryDynamoDB) -> None:
    """Asserts that the embedded edges of the user and the group equal the membership."""
    reader = table(database)
    membership = await reader.find(membership_of_user, user_id=USER, group_id=GROUP)
    group, member = await reader.find(group_by_id, id=GROUP), await reader.find(member_by_id, id=USER)
    assert group is not None
    assert member is not None
    assert group.member_count == (membership is not None)
    assert group.embedded_edges is not None
    assert group.embedded_edges.first(10) == ([(USER, membership.attributes)] if membership else [])
    assert member.embedded_edges.first(10) == ([(GROUP, membership.attributes)] if membership else [])


async def test_embedded_edges_follow_a_membership_that_is_added_changed_and_removed() -> None:
    database = new_database()
    repository = new_repository(database)
    await repository.add(GROUP, USER, GroupRole.MEMBER)
    await check_embedded_edges(database)
    assert (await repository.change(GROUP, USER, GroupRole.MANAGER)).version == 2
    await check_embedded_edges(database)
    assert await repository.remove(GROUP, USER) is True
    assert await repository.remove(GROUP, USER) is False
    await check_embedded_edges(database)


async def test_a_membership_added_during_a_change_is_the_same_in_its_embedded_edges() -> None:
    """If the user and the group were read before the membership, their embedded edges would lack it."""
    database = new_database(interrupted_operation="GetItem")
    database.interruption = lambda: new_repository(database).add(GROUP, USER, GroupRole.MEMBER)
    assert (await new_repository(database).change(GROUP, USER, GroupRole.MANAGER)).role is GroupRole.MANAGER
    await check_embedded_edges(database)


async def test_a_membership_removed_and_added_during_a_change_is_the_same_in_its_embedded_edges() -> None:
    """The new membership has the version of the old one, but another creation time."""
    database = new_database(interrupted_operation="TransactWriteItems")
    repository = new_repository(database)
    await repository.add(GROUP, USER, GroupRole.MEMBER)

    async def leave_and_join() -> None:
        await repository.remove(GROUP, USER)
        await repository.add(GROUP, USER, GroupRole.MEMBER)

    database.interruption = leave_and_join
    await repository.change(GROUP, USER, GroupRole.MANAGER)
    await check_embedded_edges(database)
