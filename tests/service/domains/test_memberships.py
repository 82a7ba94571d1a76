"""Embedded edges equal the membership, also if others write at the same time."""

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
class Interrupted(InMemoryDynamoDB):
    """Calls `interruption` once, just before the membership is read or the transaction is written."""

    before: str = ""
    interruption: Callable[[], Awaitable[object]] | None = None

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        act = self.interruption
        if act and operation == self.before and ("Key" not in parameters or _is_edge(parameters["Key"])):
            self.interruption = None
            await act()
        return await super().call(operation, parameters, credentials)


def _is_edge(key: Item) -> bool:
    return bool(key["SK"]["S"].startswith("GROUP#"))


def dynamodb(before: str = "") -> Interrupted:
    database = Interrupted(before=before)
    times: dict[str, Any] = {"created_at": OPENING, "updated_at": OPENING, "embedded_edges": EmbeddedEdges()}
    database.store(groups, Group(id=GROUP, name="Ops", **times))
    database.store(users, User(id=UserId(USER), email="a@b", name="Ann", role=Role.MEMBER, **times))
    return database


def memberships(database: InMemoryDynamoDB) -> MembershipRepository:
    days = count(1)

    def now() -> datetime:
        return OPENING + timedelta(days=next(days))

    return MembershipRepository(table(database, consistent=True), now=now)


async def check(database: InMemoryDynamoDB) -> None:
    """The embedded edges of user and group equal the membership."""
    reading = table(database)
    edge = await reading.find(membership_of_user, user_id=USER, group_id=GROUP)
    group, member = await reading.find(group_by_id, id=GROUP), await reading.find(member_by_id, id=USER)
    assert group is not None
    assert member is not None
    assert group.member_count == (edge is not None)
    assert group.embedded_edges is not None
    assert group.embedded_edges.first(10) == ([(USER, edge.attributes)] if edge else [])
    assert member.embedded_edges.first(10) == ([(GROUP, edge.attributes)] if edge else [])


async def test_embedded_edges_follow_a_membership_that_is_added_changed_and_removed() -> None:
    database = dynamodb()
    edges = memberships(database)
    await edges.add(GROUP, USER, GroupRole.MEMBER)
    await check(database)
    assert (await edges.change(GROUP, USER, GroupRole.MANAGER)).version == 2
    await check(database)
    assert await edges.remove(GROUP, USER) is True
    assert await edges.remove(GROUP, USER) is False
    await check(database)


async def test_a_membership_added_during_a_change_is_the_same_in_its_embedded_edges() -> None:
    """The ends were read before it came, and the edge after."""
    database = dynamodb(before="GetItem")
    database.interruption = lambda: memberships(database).add(GROUP, USER, GroupRole.MEMBER)
    assert (await memberships(database).change(GROUP, USER, GroupRole.MANAGER)).role is GroupRole.MANAGER
    await check(database)


async def test_a_membership_removed_and_added_during_a_change_is_the_same_in_its_embedded_edges() -> None:
    """The new edge has the version of the old one, and another day of joining."""
    database = dynamodb(before="TransactWriteItems")
    edges = memberships(database)
    await edges.add(GROUP, USER, GroupRole.MEMBER)

    async def leave_and_join() -> None:
        await edges.remove(GROUP, USER)
        await edges.add(GROUP, USER, GroupRole.MEMBER)

    database.interruption = leave_and_join
    await edges.change(GROUP, USER, GroupRole.MANAGER)
    await check(database)
