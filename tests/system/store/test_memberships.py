"""Memberships are one item each, right from both sides, however many there are."""

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


async def people(table: Table, count: int) -> list[User]:
    users = UserRepository(table)
    return [await users.create(email=f"{n}@x.example", name=f"U{n}", role=Role.MEMBER) for n in range(count)]


async def people_named(table: Table, name: str, count: int) -> list[User]:
    create = UserRepository(table).create
    return [await create(email=f"{name}{n}@x.example", name=name, role=Role.MEMBER) for n in range(count)]


async def group(table: Table) -> Group:
    return await GroupRepository(table).create(name="Crew", description=None)


async def join(table: Table, crew: Group, users: list[User]) -> None:
    for user in users:
        await MembershipRepository(table).add(crew.id, MemberId(user.id), GroupRole.MEMBER)


async def members(table: Table, crew: Group, size: int) -> list[str]:
    """Everybody in the group, page by page, beginning at the head that the group's item carries."""
    found: list[str] = []
    after = None
    head = (await GroupRepository(table).get(crew.id)).embedded_edges
    while True:
        page = await MembershipRepository(table).of_group(crew.id, head or EmbeddedEdges(), first=size, after=after)
        found += [edge.node.user_id for edge in page.edges]
        if not page.has_next:
            return found
        after = page.edges[-1].cursor()


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_members_page_to_the_end_without_gap_or_repeat_beyond_the_embedded_edges(table: Table, size: int) -> None:
    crew, users = await group(table), await people(table, MAX_EMBEDDED_EDGES + 6)
    await join(table, crew, users[::-1])
    assert await members(table, crew, size) == sorted(user.id for user in users)


async def test_a_membership_is_seen_from_both_sides_with_its_attributes(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    edge = await MembershipRepository(table).add(crew.id, MemberId(user.id), GroupRole.MANAGER)
    assert (await table.page(groups_of_user, first=5, user_id=user.id)).items == (edge,)
    assert (await table.page(members_of_group, first=5, group_id=crew.id)).items == (edge,)
    whole = await UserRepository(table).get(user.id)
    assert (
        await MembershipRepository(table).of_user(user.id, whole.embedded_edges or EmbeddedEdges(), first=5, after=None)
    ).items == (edge,)


async def test_the_count_is_exact_after_concurrent_joins_and_leaves(table: Table) -> None:
    crew, users = await group(table), await people(table, 12)
    book = MembershipRepository(table)
    await asyncio.gather(*(book.add(crew.id, MemberId(user.id), GroupRole.MEMBER) for user in users))
    await asyncio.gather(*(book.remove(crew.id, MemberId(user.id)) for user in users[:5]))
    assert (await GroupRepository(table).get(crew.id)).member_count == 7
    assert await members(table, crew, 5) == sorted(user.id for user in users[5:])


async def test_joining_twice_is_a_conflict_and_counts_once(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    await join(table, crew, [user])
    with pytest.raises(Conflict, match="already"):
        await join(table, crew, [user])
    assert (await GroupRepository(table).get(crew.id)).member_count == 1


async def test_removing_a_membership_says_whether_there_was_one(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    assert await MembershipRepository(table).remove(crew.id, MemberId(user.id)) is False
    await join(table, crew, [user])
    assert await MembershipRepository(table).remove(crew.id, MemberId(user.id)) is True
    assert (await GroupRepository(table).get(crew.id)).member_count == 0


async def test_a_changed_role_shows_on_both_sides(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    await join(table, crew, [user])
    await MembershipRepository(table).change(crew.id, MemberId(user.id), GroupRole.MANAGER)
    head = (await GroupRepository(table).get(crew.id)).embedded_edges or EmbeddedEdges()
    (edge,) = (await MembershipRepository(table).of_group(crew.id, head, first=5, after=None)).items
    assert (edge.role, edge.version) == (GroupRole.MANAGER, 2)
    assert (await table.page(members_of_group, first=5, group_id=crew.id)).items == (edge,)


async def test_a_membership_needs_an_existing_group_and_an_existing_user(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    nowhere, nobody = "grp_" + "0" * 26, MemberId("usr_" + "0" * 26)
    with pytest.raises(NotFound, match="group"):
        await MembershipRepository(table).add(type(crew.id)(nowhere), MemberId(user.id), GroupRole.MEMBER)
    with pytest.raises(NotFound, match="user"):
        await MembershipRepository(table).add(crew.id, nobody, GroupRole.MEMBER)
    assert (await GroupRepository(table).get(crew.id)).member_count == 0


async def test_deleting_a_group_deletes_all_of_its_memberships(table: Table) -> None:
    crew, users = await group(table), await people(table, 30)
    await join(table, crew, users)
    await GroupRepository(table).begin_delete(crew.id)
    await MembershipRepository(table).clear_group(crew.id)
    await GroupRepository(table).finish_delete(crew.id)
    assert await table.find(group_by_id, id=crew.id) is None
    assert (await table.page(members_of_group, first=5, group_id=crew.id)).items == ()
    for user in users:
        whole = await UserRepository(table).get(user.id)
        assert whole.embedded_edges == EmbeddedEdges()


async def test_a_user_who_leaves_the_tenant_leaves_every_group(table: Table) -> None:
    (user, other), crews = await people(table, 2), [await group(table) for _ in range(27)]
    for crew in crews:
        await join(table, crew, [user, other])
    await UserRepository(table).begin_delete(user.id, authorize=lambda _: None)
    await MembershipRepository(table).remove_user(MemberId(user.id))
    await UserRepository(table).finish_delete(user.id)
    for crew in crews:
        assert (await GroupRepository(table).get(crew.id)).member_count == 1
        assert await members(table, crew, 5) == [other.id]


async def test_an_interrupted_deletion_of_a_group_is_finished_by_the_next(table: Table) -> None:
    crew, users = await group(table), await people(table, 26)
    await join(table, crew, users)
    await GroupRepository(table).begin_delete(crew.id)
    first = [(crew.id, MemberId(user.id)) for user in users[:10]]
    await MembershipRepository(table)._remove_memberships(first)
    with pytest.raises(Conflict):
        await GroupRepository(table).finish_delete(crew.id)
    await GroupRepository(table).begin_delete(crew.id)
    await MembershipRepository(table).clear_group(crew.id)
    await GroupRepository(table).finish_delete(crew.id)
    assert await table.find(group_by_id, id=crew.id) is None


async def test_a_group_that_is_being_deleted_accepts_no_members(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    await GroupRepository(table).begin_delete(crew.id)
    with pytest.raises(NotFound):
        await join(table, crew, [user])


class Overtaken(MembershipRepository):
    """Somebody deletes the group between this one's reading and its writing."""

    __slots__ = ()

    async def _group_and_member(self, group_id: GroupId, user_id: MemberId) -> tuple[Group, Member]:
        ends = await super()._group_and_member(group_id, user_id)
        await GroupRepository(self.table).begin_delete(group_id)
        return ends


async def test_a_group_that_is_deleted_during_a_join_has_no_members(table: Table) -> None:
    crew, (user,) = await group(table), await people(table, 1)
    with pytest.raises(NotFound):
        await Overtaken(table).add(crew.id, MemberId(user.id), GroupRole.MEMBER)
    assert (await table.page(members_of_group, first=5, group_id=crew.id)).items == ()


async def test_embedded_edges_are_right_after_more_concurrent_joins_than_they_can_contain(table: Table) -> None:
    crew, users = await group(table), await people(table, MAX_EMBEDDED_EDGES + 16)
    joins = (MembershipRepository(table).add(crew.id, MemberId(user.id), GroupRole.MEMBER) for user in reversed(users))
    await asyncio.gather(*joins)
    await join(table, crew, await people_named(table, "late", 2))
    found = await GroupRepository(table).get(crew.id)
    everybody = [edge.user_id async for edge in table.iterate_shards(members_of_group, group_id=crew.id)]
    assert found.member_count == len(everybody) == MAX_EMBEDDED_EDGES + 18
    head = found.embedded_edges or EmbeddedEdges()
    assert [child for child, _ in head.first(MAX_EMBEDDED_EDGES - 4) or []] == sorted(everybody)[
        : MAX_EMBEDDED_EDGES - 4
    ]
    assert await members(table, crew, 7) == sorted(everybody)


async def test_concurrent_deletions_of_one_group_succeed_or_do_not_find_it(table: Table) -> None:
    crew, users = await group(table), await people(table, 3)
    await join(table, crew, users)

    async def delete() -> None:
        await GroupRepository(table).begin_delete(crew.id)
        await MembershipRepository(table).clear_group(crew.id)
        await GroupRepository(table).finish_delete(crew.id)

    outcomes = await asyncio.gather(*(delete() for _ in range(4)), return_exceptions=True)
    assert all(outcome is None or isinstance(outcome, NotFound) for outcome in outcomes), outcomes
    assert await table.find(group_by_id, id=crew.id) is None


@dataclass(frozen=True, slots=True)
class Late(MembershipRepository):
    """Others join between this one's first reading and its writing."""

    crowd: list[User] = field(default_factory=list)

    async def _group_and_member(self, group_id: GroupId, user_id: MemberId) -> tuple[Group, Member]:
        ends = await MembershipRepository._group_and_member(self, group_id, user_id)
        while self.crowd:
            await MembershipRepository(self.table).add(group_id, MemberId(self.crowd.pop().id), GroupRole.MEMBER)
        return ends


async def test_a_join_with_older_embedded_edges_hides_no_member(table: Table) -> None:
    """Ten of low ids join behind the back of one who thinks the head is full of others, and leave; two of high ids
    come: were the head's end set by the older view, it would list these two and pass over those before them."""
    crew, users = await group(table), await people(table, 10 + MAX_EMBEDDED_EDGES + 3)
    low, spare, latest = users[:10], users[-4:-2], users[-1]
    others = [user for user in users[10:-1] if user not in spare]
    assert len(others) == MAX_EMBEDDED_EDGES
    await join(table, crew, others)
    await Late(table, crowd=list(low)).add(crew.id, MemberId(latest.id), GroupRole.MEMBER)
    for user in low:
        await MembershipRepository(table).remove(crew.id, MemberId(user.id))
    await join(table, crew, spare)
    assert await members(table, crew, MAX_EMBEDDED_EDGES - 9) == sorted(user.id for user in (*others, *spare, latest))
