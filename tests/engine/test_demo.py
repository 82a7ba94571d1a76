"""The demo tenants are as true as if their users had made them, and are loaded once."""

from iam.boundary import tenant_id
from service.domains.groups.access import groups_of_user, members_of_group
from service.domains.groups.memberships import Memberships
from service.domains.groups.repository import Groups
from service.domains.users.access import user_tallies
from service.domains.users.repository import Users
from service.local.demo import load_demo
from service.local.people import TENANTS
from service.store.head import Head
from tests.world import World


async def test_heads_counts_and_claims_agree_with_the_edges(world: World) -> None:
    said: list[str] = []
    await load_demo(world.tables, said.append)
    assert said == [f"loading the demo tenant {name}" for name in TENANTS]
    for name, demo in TENANTS.items():
        table = world.table(tenant_id(name))
        found = (await Groups(table).by_name(first=50, after=None)).items
        assert {group.name: group.member_count for group in found} == {
            group: len(people) for group, people in demo.groups.items()
        }
        for listed in found:
            group = await Groups(table).get(listed.id)
            known = await Memberships(table).of_group(group.id, group.head or Head(), first=50, after=None)
            assert known.items == (await table.page(members_of_group, first=50, group_id=group.id)).items
        tallied = await table.find(user_tallies.get())
        assert tallied
        assert tallied.total == len(demo.people)
        for person in demo.people:
            user = await Users(table).find_by_email(demo.email(person))
            assert user
            whole = await Users(table).get(user.id)
            known = await Memberships(table).of_user(user.id, whole.head or Head(), first=50, after=None)
            assert known.items == (await table.page(groups_of_user, first=50, user_id=user.id)).items
    await load_demo(world.tables, said.append)
    assert len(said) == len(TENANTS)
