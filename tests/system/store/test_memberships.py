"""A membership is one item, and is listed correctly for its user and for its group, in groups of any size."""

import asyncio
from dataclasses import dataclass, field

import pytest

from keyfence.auth.principal import Role
from keyfence.domains.groups.access_patterns import group_by_id, groups_of_user, members_of_group
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.model import Group, GroupId, GroupRole, Member, MemberId
from keyfence.domains.groups.repository import GroupRepository
from keyfence.domains.users.model import User
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Conflict, NotFound
from keyfence.store.embedded_edges import MAX_EMBEDDED_EDGES, EmbeddedEdges
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack


@pytest.fixture
def table(stack: ServiceStack, tenant: TenantId) -> Table:
    return stack.table(tenant)


async def create_users(table: Table, count: int) -> list[User]:
    users = UserRepository(table)
    return [await users.create(email=f"{n}@x.example", name=f"U{n}", role=Role.MEMBER) for n in range(count)]


async def create_named_users(table: Table, name: str, count: int) -> list[User]:
    create = UserRepository(table).create
    return [await create(email=f"{name}{n}@x.example", name=name, role=Role.MEMBER) for n in range(count)]


async def create_group(table: Table) -> Group:
    return await GroupRepository(table).create(name="Crew", description=None)


async def join(table: Table, group: Group, users: list[User]) -> None:
    for user in users:
        await MembershipRepository(table).add(group.id, MemberId(user.id), GroupRole.MEMBER)


async def members(table: Table, group: Group, size: int) -> list[str]:
    """Everybody in the group, page by page, beginning at the head that the group's item carries."""
    found: list[str] = []
    after = None
    edges = (await GroupRepository(table).get(group.id)).embedded_edges
    while True:
        page = await MembershipRepository(table).of_group(group.id, edges or EmbeddedEdges(), first=size, after=after)
        found += [edge.node.user_id for edge in page.edges]
        if not page.has_next:
            return found
        after = page.edges[-1].cursor()


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_members_page_to_the_end_without_gap_or_repeat_beyond_the_embedded_edges(table: Table, size: int) -> None:
    group, users = await create_group(table), await create_users(table, MAX_EMBEDDED_EDGES + 6)
    await join(table, group, users[::-1])
    assert await members(table, group, size) == sorted(user.id for user in users)


async def test_a_membership_is_seen_from_both_sides_with_its_attributes(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    edge = await MembershipRepository(table).add(group.id, MemberId(user.id), GroupRole.MANAGER)
    assert (await table.page(groups_of_user, first=5, user_id=user.id)).items == (edge,)
    assert (await table.page(members_of_group, first=5, group_id=group.id)).items == (edge,)
    stored_user = await UserRepository(table).get(user.id)
    assert (
        await MembershipRepository(table).of_user(
            user.id, stored_user.embedded_edges or EmbeddedEdges(), first=5, after=None
        )
    ).items == (edge,)


async def test_the_count_is_exact_after_concurrent_joins_and_leaves(table: Table) -> None:
    group, users = await create_group(table), await create_users(table, 12)
    memberships = MembershipRepository(table)
    await asyncio.gather(*(memberships.add(group.id, MemberId(user.id), GroupRole.MEMBER) for user in users))
    await asyncio.gather(*(memberships.remove(group.id, MemberId(user.id)) for user in users[:5]))
    assert (await GroupRepository(table).get(group.id)).member_count == 7
    assert await members(table, group, 5) == sorted(user.id for user in users[5:])


async def test_joining_twice_is_a_conflict_and_counts_once(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    await join(table, group, [user])
    with pytest.raises(Conflict, match="already"):
        await join(table, group, [user])
    assert (await GroupRepository(table).get(group.id)).member_count == 1


async def test_removing_a_membership_says_whether_there_was_one(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    assert await MembershipRepository(table).remove(group.id, MemberId(user.id)) is False
    await join(table, group, [user])
    assert await MembershipRepository(table).remove(group.id, MemberId(user.id)) is True
    assert (await GroupRepository(table).get(group.id)).member_count == 0


async def test_a_changed_role_shows_on_both_sides(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    await join(table, group, [user])
    await MembershipRepository(table).change(group.id, MemberId(user.id), GroupRole.MANAGER)
    edges = (await GroupRepository(table).get(group.id)).embedded_edges or EmbeddedEdges()
    (edge,) = (await MembershipRepository(table).of_group(group.id, edges, first=5, after=None)).items
    assert (edge.role, edge.version) == (GroupRole.MANAGER, 2)
    assert (await table.page(members_of_group, first=5, group_id=group.id)).items == (edge,)


async def test_a_membership_needs_an_existing_group_and_an_existing_user(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    missing_group, missing_user = "grp_" + "0" * 26, MemberId("usr_" + "0" * 26)
    with pytest.raises(NotFound, match="group"):
        await MembershipRepository(table).add(type(group.id)(missing_group), MemberId(user.id), GroupRole.MEMBER)
    with pytest.raises(NotFound, match="user"):
        await MembershipRepository(table).add(group.id, missing_user, GroupRole.MEMBER)
    assert (await GroupRepository(table).get(group.id)).member_count == 0


async def test_deleting_a_group_deletes_all_of_its_memberships(table: Table) -> None:
    group, users = await create_group(table), await create_users(table, 30)
    await join(table, group, users)
    await GroupRepository(table).begin_delete(group.id)
    await MembershipRepository(table).clear_group(group.id)
    await GroupRepository(table).finish_delete(group.id)
    assert await table.find(group_by_id, id=group.id) is None
    assert (await table.page(members_of_group, first=5, group_id=group.id)).items == ()
    for user in users:
        stored_user = await UserRepository(table).get(user.id)
        assert stored_user.embedded_edges == EmbeddedEdges()


async def test_a_user_who_leaves_the_tenant_leaves_every_group(table: Table) -> None:
    (user, other), groups = await create_users(table, 2), [await create_group(table) for _ in range(27)]
    for group in groups:
        await join(table, group, [user, other])
    await UserRepository(table).begin_delete(user.id, authorize=lambda _: None)
    await MembershipRepository(table).remove_user(MemberId(user.id))
    await UserRepository(table).finish_delete(user.id)
    for group in groups:
        assert (await GroupRepository(table).get(group.id)).member_count == 1
        assert await members(table, group, 5) == [other.id]


async def test_an_interrupted_deletion_of_a_group_is_finished_by_the_next(table: Table) -> None:
    group, users = await create_group(table), await create_users(table, 26)
    await join(table, group, users)
    await GroupRepository(table).begin_delete(group.id)
    first = [(group.id, MemberId(user.id)) for user in users[:10]]
    await MembershipRepository(table)._remove_memberships(first)
    with pytest.raises(Conflict):
        await GroupRepository(table).finish_delete(group.id)
    await GroupRepository(table).begin_delete(group.id)
    await MembershipRepository(table).clear_group(group.id)
    await GroupRepository(table).finish_delete(group.id)
    assert await table.find(group_by_id, id=group.id) is None


async def test_a_group_that_is_being_deleted_accepts_no_members(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    await GroupRepository(table).begin_delete(group.id)
    with pytest.raises(NotFound):
        await join(table, group, [user])


class GroupDeletedMeanwhile(MembershipRepository):
    """Another user deletes the group after this repository has read it and before it writes."""

    __slots__ = ()

    async def _group_and_member(self, group_id: GroupId, user_id: MemberId) -> tuple[Group, Member]:
        group_and_member = await super()._group_and_member(group_id, user_id)
        await GroupRepository(self.table).begin_delete(group_id)
        return group_and_member


async def test_a_group_that_is_deleted_during_a_join_has_no_members(table: Table) -> None:
    group, (user,) = await create_group(table), await create_users(table, 1)
    with pytest.raises(NotFound):
        await GroupDeletedMeanwhile(table).add(group.id, MemberId(user.id), GroupRole.MEMBER)
    assert (await table.page(members_of_group, first=5, group_id=group.id)).items == ()


async def test_embedded_edges_are_right_after_more_concurrent_joins_than_they_can_contain(table: Table) -> None:
    group, users = await create_group(table), await create_users(table, MAX_EMBEDDED_EDGES + 16)
    joins = (MembershipRepository(table).add(group.id, MemberId(user.id), GroupRole.MEMBER) for user in reversed(users))
    await asyncio.gather(*joins)
    await join(table, group, await create_named_users(table, "late", 2))
    found = await GroupRepository(table).get(group.id)
    all_members = [edge.user_id async for edge in table.iterate_shards(members_of_group, group_id=group.id)]
    assert found.member_count == len(all_members) == MAX_EMBEDDED_EDGES + 18
    edges = found.embedded_edges or EmbeddedEdges()
    assert [child for child, _ in edges.first(MAX_EMBEDDED_EDGES - 4) or []] == sorted(all_members)[
        : MAX_EMBEDDED_EDGES - 4
    ]
    assert await members(table, group, 7) == sorted(all_members)


async def test_concurrent_deletions_of_one_group_succeed_or_do_not_find_it(table: Table) -> None:
    group, users = await create_group(table), await create_users(table, 3)
    await join(table, group, users)

    async def delete() -> None:
        await GroupRepository(table).begin_delete(group.id)
        await MembershipRepository(table).clear_group(group.id)
        await GroupRepository(table).finish_delete(group.id)

    outcomes = await asyncio.gather(*(delete() for _ in range(4)), return_exceptions=True)
    assert all(outcome is None or isinstance(outcome, NotFound) for outcome in outcomes), outcomes
    assert await table.find(group_by_id, id=group.id) is None


@dataclass(frozen=True, slots=True)
class OthersJoinMeanwhile(MembershipRepository):
    """Other users join after this repository has read the group and before it writes."""

    joining_users: list[User] = field(default_factory=list)

    async def _group_and_member(self, group_id: GroupId, user_id: MemberId) -> tuple[Group, Member]:
        group_and_member = await MembershipRepository._group_and_member(self, group_id, user_id)
        while self.joining_users:
            await MembershipRepository(self.table).add(
                group_id, MemberId(self.joining_users.pop().id), GroupRole.MEMBER
            )
        return group_and_member


async def test_a_join_with_older_embedded_edges_hides_no_member(table: Table) -> None:
    """Ten users with low ids join between the read and the write of another join, and then leave. Two users with high
    ids join. If the write used `complete_until` from its old read, the group would list these two users and skip others
    before them."""
    group, users = await create_group(table), await create_users(table, 10 + MAX_EMBEDDED_EDGES + 3)
    low, late_users, latest = users[:10], users[-4:-2], users[-1]
    others = [user for user in users[10:-1] if user not in late_users]
    assert len(others) == MAX_EMBEDDED_EDGES
    await join(table, group, others)
    await OthersJoinMeanwhile(table, joining_users=list(low)).add(group.id, MemberId(latest.id), GroupRole.MEMBER)
    for user in low:
        await MembershipRepository(table).remove(group.id, MemberId(user.id))
    await join(table, group, late_users)
    assert await members(table, group, MAX_EMBEDDED_EDGES - 9) == sorted(
        user.id for user in (*others, *late_users, latest)
    )
