"""Groups and memberships through the API."""

from tests.stack import ApiClient

ADD = """mutation($g: ID!, $u: ID!, $r: GroupRole) {
  addMember(groupId: $g, userId: $u, role: $r) { role joinedAt cursor node { id } } }"""


async def create_user(client: ApiClient, email: str) -> str:
    query = 'mutation($e: String!) { createUser(input: {email: $e, name: "N"}) { id } }'
    user_id: str = (await client.data(query, e=email))["createUser"]["id"]
    return user_id


async def create_group(client: ApiClient, name: str) -> str:
    query = 'mutation($n: String!) { createGroup(input: {name: $n, description: "d"}) { id } }'
    group_id: str = (await client.data(query, n=name))["createGroup"]["id"]
    return group_id


async def test_groups_are_listed_by_name_with_any_characters(owner: ApiClient) -> None:
    names = ["b", "a#1", "a", "a b", "A", "%", "Ä", "🦊", "a%23", "ab"]
    for name in names:
        await create_group(owner, name)
    data = await owner.data("{ groups { edges { node { name } } } }")
    assert [edge["node"]["name"] for edge in data["groups"]["edges"]] == sorted(names)


async def test_a_renamed_group_moves_in_the_list_and_keeps_its_members(owner: ApiClient) -> None:
    first, _ = await create_group(owner, "a"), await create_group(owner, "b")
    await owner.data(ADD, g=first, u=await create_user(owner, "u@x.example"))
    renamed = await owner.data(
        'mutation($id: ID!) { updateGroup(id: $id, input: {name: "c", description: null}, expectedVersion: 1)'
        " { version description memberCount } }",
        id=first,
    )
    assert renamed["updateGroup"] == {"version": 2, "description": None, "memberCount": 1}
    data = await owner.data("{ groups { edges { node { name memberCount } } } }")
    assert [edge["node"] for edge in data["groups"]["edges"]] == [
        {"name": "b", "memberCount": 0},
        {"name": "c", "memberCount": 1},
    ]


async def test_a_membership_is_added_changed_and_removed(owner: ApiClient) -> None:
    group_id, member = await create_group(owner, "crew"), await create_user(owner, "u@x.example")
    added = (await owner.data(ADD, g=group_id, u=member, r="MANAGER"))["addMember"]
    assert (added["role"], added["node"]["id"]) == ("MANAGER", member)
    assert await owner.error_code(ADD, g=group_id, u=member) == "CONFLICT"
    change = "mutation($g: ID!, $u: ID!) { changeMember(groupId: $g, userId: $u, role: MEMBER) { role joinedAt } }"
    changed = (await owner.data(change, g=group_id, u=member))["changeMember"]
    assert changed == {"role": "MEMBER", "joinedAt": added["joinedAt"]}
    both_lists = """query($g: ID!, $u: ID!) {
      group(id: $g) { memberCount members { edges { role joinedAt node { id } } } }
      user(id: $u) { groups { edges { role joinedAt node { id } } } } }"""
    data = await owner.data(both_lists, g=group_id, u=member)
    edge = {"role": "MEMBER", "joinedAt": added["joinedAt"]}
    assert data["group"]["members"]["edges"] == [{**edge, "node": {"id": member}}]
    assert data["user"]["groups"]["edges"] == [{**edge, "node": {"id": group_id}}]
    remove = "mutation($g: ID!, $u: ID!) { removeMember(groupId: $g, userId: $u) }"
    assert (await owner.data(remove, g=group_id, u=member))["removeMember"] is True
    assert (await owner.data(remove, g=group_id, u=member))["removeMember"] is False
    assert await owner.error_code(change, g=group_id, u=member) == "NOT_FOUND"


async def test_an_old_version_of_a_group_is_a_conflict_and_a_new_member_does_not_change_the_version(
    owner: ApiClient,
) -> None:
    group_id = await create_group(owner, "crew")
    await owner.data(ADD, g=group_id, u=await create_user(owner, "u@x.example"))
    update = 'mutation($id: ID!) { updateGroup(id: $id, input: {name: "x"}, expectedVersion: 1) { version } }'
    assert (await owner.data(update, id=group_id))["updateGroup"]["version"] == 2
    assert await owner.error_code(update, id=group_id) == "CONFLICT"


async def test_a_deleted_group_disappears_from_lists_members_and_nodes(owner: ApiClient) -> None:
    group_id, member = await create_group(owner, "crew"), await create_user(owner, "u@x.example")
    await owner.data(ADD, g=group_id, u=member)
    assert (await owner.data("mutation($id: ID!) { deleteGroup(id: $id) }", id=group_id))["deleteGroup"] == group_id
    data = await owner.data(
        "query($g: ID!, $u: ID!) { group(id: $g) { id } node(id: $g) { id } groups { edges { cursor } }"
        " user(id: $u) { groups { edges { cursor } } } }",
        g=group_id,
        u=member,
    )
    assert data == {"group": None, "node": None, "groups": {"edges": []}, "user": {"groups": {"edges": []}}}


async def test_each_mutation_of_a_request_returns_its_own_result(owner: ApiClient) -> None:
    group_id, first, second = (
        await create_group(owner, "crew"),
        await create_user(owner, "1@x.example"),
        await create_user(owner, "2@x.example"),
    )
    query = """mutation($g: ID!, $a: ID!, $b: ID!) {
      a: addMember(groupId: $g, userId: $a) { node { groups { edges { node { memberCount } } } } }
      b: addMember(groupId: $g, userId: $b) { node { groups { edges { node { memberCount } } } } } }"""
    data = await owner.data(query, g=group_id, a=first, b=second)
    counts = [data[name]["node"]["groups"]["edges"][0]["node"]["memberCount"] for name in "ab"]
    assert counts == [1, 2]
