"""Users through the API."""

import asyncio
from typing import Any

import pytest

from keyfence.auth.principal import Role
from tests.stack import ApiClient, ServiceStack

CREATE = 'mutation($e: String!, $n: String! = "N") { createUser(input: {email: $e, name: $n}) { id version role } }'
UPDATE = """mutation($id: ID!, $input: UpdateUserInput!, $v: Int) {
  updateUser(id: $id, input: $input, expectedVersion: $v) { name email version updatedAt createdAt } }"""


TYPED = "Zo\u00eb@b\u00fccher.example"
SPELLINGS = ["zo\u00eb@b\u00fccher.example", "ZOE\u0308@BU\u0308CHER.example", "zo\u00eb@xn--bcher-kva.example"]


async def create(client: ApiClient, email: str) -> str:
    user_id: str = (await client.data(CREATE, e=email))["createUser"]["id"]
    return user_id


async def test_a_user_is_created_changed_and_deleted(owner: ApiClient) -> None:
    user = await create(owner, "a@x.example")
    data = await owner.data(UPDATE, id=user, input={"name": "Neu"}, v=1)
    assert data["updateUser"]["version"] == 2
    assert data["updateUser"]["updatedAt"] > data["updateUser"]["createdAt"]
    data = await owner.data('{ userByEmail(email: "a@x.example") { id name role } }')
    assert data["userByEmail"] == {"id": user, "name": "Neu", "role": "MEMBER"}
    assert (await owner.data("mutation($id: ID!) { deleteUser(id: $id) }", id=user))["deleteUser"] == user
    deleted = await owner.data("query($id: ID!) { user(id: $id) { id } node(id: $id) { id } }", id=user)
    assert deleted == {"user": None, "node": None}
    assert await owner.error_code("mutation($id: ID!) { deleteUser(id: $id) }", id=user) == "NOT_FOUND"


async def test_only_one_of_concurrent_creates_with_one_email_succeeds(owner: ApiClient) -> None:
    answers = await asyncio.gather(*(owner.execute(CREATE, e="one@x.example") for _ in range(8)))
    assert sorted(error_code_or_ok(answer) for answer in answers) == ["CONFLICT"] * 7 + ["OK"]


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_an_email_in_another_spelling_is_taken_and_finds_the_user(owner: ApiClient, spelling: str) -> None:
    user, other = await create(owner, TYPED), await create(owner, "other@x.example")
    assert await owner.error_code(CREATE, e=spelling) == "CONFLICT"
    assert await owner.error_code(UPDATE, id=other, input={"email": spelling}) == "CONFLICT"
    by_email = await owner.data("query($e: String!) { userByEmail(email: $e) { id email } }", e=spelling)
    assert by_email["userByEmail"] == {"id": user, "email": TYPED}


async def test_a_user_can_change_the_spelling_of_their_email_and_keeps_the_claim(owner: ApiClient) -> None:
    user = await create(owner, TYPED)
    for spelling in SPELLINGS:
        assert (await owner.data(UPDATE, id=user, input={"email": spelling}))["updateUser"]["email"] == spelling
        assert await owner.error_code(CREATE, e=TYPED) == "CONFLICT"
    await owner.data("mutation($id: ID!) { deleteUser(id: $id) }", id=user)
    await create(owner, TYPED)


async def test_only_one_of_concurrent_creates_with_spellings_of_one_email_succeeds(owner: ApiClient) -> None:
    answers = await asyncio.gather(*(owner.execute(CREATE, e=email) for email in (TYPED, *SPELLINGS)))
    assert sorted(error_code_or_ok(answer) for answer in answers) == ["CONFLICT"] * len(SPELLINGS) + ["OK"]


async def test_only_one_of_concurrent_updates_with_one_expected_version_succeeds(owner: ApiClient) -> None:
    user = await create(owner, "a@x.example")
    updates = (owner.execute(UPDATE, id=user, input={"name": f"N{n}"}, v=1) for n in range(8))
    answers = await asyncio.gather(*updates)
    assert sorted(error_code_or_ok(answer) for answer in answers) == ["CONFLICT"] * 7 + ["OK"]


def error_code_or_ok(answer: dict[str, Any]) -> str:
    code: str = answer["errors"][0]["extensions"]["code"] if "errors" in answer else "OK"
    return code


BAD_USERS = {
    "no at sign": {"email": "nobody", "name": "N"},
    "blank in the email": {"email": "a b@x.example", "name": "N"},
    "zero-width space in the email": {"email": "a\u200b@x.example", "name": "N"},
    "email without a host": {"email": "a@b..c", "name": "N"},
    "email too long": {"email": "a" * 250 + "@x.example", "name": "N"},
    "empty name": {"email": "a@x.example", "name": ""},
    "blank name": {"email": "a@x.example", "name": "  "},
    "line break in the name": {"email": "a@x.example", "name": "a\nb"},
    "name too long": {"email": "a@x.example", "name": "n" * 201},
    "half a character": {"email": "a\ud800@x.example", "name": "N"},
}


@pytest.mark.parametrize("user", BAD_USERS.values(), ids=BAD_USERS)
async def test_an_invalid_user_is_refused_with_its_field(owner: ApiClient, user: dict[str, str]) -> None:
    query = "mutation($i: CreateUserInput!) { createUser(input: $i) { id } }"
    answer = await owner.post({"query": query, "variables": {"i": user}})
    assert answer.status_code < 500
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert (await owner.data("{ users { edges { node { id } } } }"))["users"]["edges"] == []


async def test_null_is_refused_where_a_value_is_required(owner: ApiClient) -> None:
    user = await create(owner, "a@x.example")
    assert await owner.error_code(UPDATE, id=user, input={"name": None}) == "BAD_USER_INPUT"
    assert (await owner.data(UPDATE, id=user, input={}))["updateUser"]["version"] == 1


BAD_IDS = ["", "x", "usr_", "usr_01", "usr_" + "0" * 25, "usr_" + "8" * 26, "usr_" + "i" * 26, "grp_" + "0" * 26,
           "usr_0000000000000000000000000#", "\u0000", "💥", "x" * 5000]  # fmt: skip


@pytest.mark.parametrize("id", BAD_IDS)
async def test_a_malformed_id_is_refused_or_finds_nothing(owner: ApiClient, id: str) -> None:
    assert await owner.error_code("query($id: ID!) { user(id: $id) { id } }", id=id) == "BAD_USER_INPUT"
    assert (await owner.data("query($id: ID!) { node(id: $id) { id } }", id=id))["node"] is None


@pytest.mark.parametrize("first", [0, -1, 101, 2_000_000_000])
async def test_a_page_has_from_one_to_a_hundred_items(owner: ApiClient, first: int) -> None:
    assert (
        await owner.error_code("query($f: Int) { users(first: $f) { edges { cursor } } }", f=first) == "BAD_USER_INPUT"
    )


PAGE = """query($f: Int, $a: String) {
  users(first: $f, after: $a) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } }"""


async def test_pages_have_no_gap_and_no_repeat_and_say_where_they_end(owner: ApiClient) -> None:
    created_ids = [await create(owner, f"{n}@x.example") for n in range(5)]
    first = (await owner.data(PAGE, f=3))["users"]
    assert (first["pageInfo"]["hasNextPage"], first["pageInfo"]["hasPreviousPage"]) == (True, False)
    other_users = (await owner.data(PAGE, f=2, a=first["pageInfo"]["endCursor"]))["users"]
    assert (other_users["pageInfo"]["hasNextPage"], other_users["pageInfo"]["hasPreviousPage"]) == (False, True)
    assert [edge["node"]["id"] for edge in first["edges"] + other_users["edges"]] == created_ids[::-1]


async def test_a_cursor_of_another_tenant_or_list_is_refused(stack: ServiceStack, owner: ApiClient) -> None:
    for n in range(2):
        await create(owner, f"{n}@x.example")
    cursor = (await owner.data(PAGE, f=1))["users"]["pageInfo"]["endCursor"]
    neighbour = stack.api_client(await stack.new_tenant())
    assert await neighbour.error_code(PAGE, f=1, a=cursor) == "BAD_USER_INPUT"
    groups = "query($a: String) { groups(after: $a) { edges { cursor } } }"
    assert await owner.error_code(groups, a=cursor) == "BAD_USER_INPUT"
    for forged in ("", "x", "💥", cursor[:-1], cursor + "A", cursor.swapcase(), "A" * 7000):
        assert await owner.error_code(PAGE, f=1, a=forged) == "BAD_USER_INPUT"


async def test_a_cursor_of_another_group_is_refused(stack: ServiceStack, owner: ApiClient) -> None:
    users = [await create(owner, f"{n}@x.example") for n in range(2)]
    groups = []
    for name in ("A", "B"):
        group_ids = await owner.data("mutation($n: String!) { createGroup(input: {name: $n}) { id } }", n=name)
        groups.append(group_ids["createGroup"]["id"])
        for user in users:
            await owner.data(
                "mutation($g: ID!, $u: ID!) { addMember(groupId: $g, userId: $u) { role } }", g=groups[-1], u=user
            )
    members = "query($g: ID!, $a: String) { group(id: $g) { members(first: 1, after: $a) { edges { cursor } } } }"
    data = await owner.data(members, g=groups[0])
    cursor = data["group"]["members"]["edges"][0]["cursor"]
    assert (await owner.data(members, g=groups[0], a=cursor))["group"]["members"]["edges"]
    assert await owner.error_code(members, g=groups[1], a=cursor) == "BAD_USER_INPUT"


async def test_the_viewer_is_the_callers_tenant_role_and_user(stack: ServiceStack, owner: ApiClient) -> None:
    user = await create(owner, "me@x.example")
    viewer = stack.api_client(owner.tenant, Role.VIEWER, user=user)
    data = await viewer.data("{ viewer { subject role user { email } tenant { id tier name createdAt } } }")
    assert data["viewer"]["user"] == {"email": "me@x.example"}
    assert (data["viewer"]["role"], data["viewer"]["tenant"]["id"]) == ("VIEWER", owner.tenant)
    assert (await owner.data("{ viewer { user { id } } }"))["viewer"]["user"] is None


VALUES_JSON_CANNOT_REPRESENT = ["99999999999999999999999999", "1e999", "-1e999", "{a: $x}"]


@pytest.mark.parametrize("value", VALUES_JSON_CANNOT_REPRESENT)
async def test_a_setting_that_json_cannot_represent_is_bad_input(owner: ApiClient, value: str) -> None:
    user = await create(owner, "a@x.example")
    declaration = "($x: Int)" if "$x" in value else ""
    query = f'mutation{declaration} {{ putSetting(userId: "{user}", name: "n", value: {value}) {{ value }} }}'
    answer = await owner.execute(query)
    assert "INTERNAL" not in str(answer)


async def test_a_deeply_nested_setting_is_bad_input(owner: ApiClient) -> None:
    user = await create(owner, "a@x.example")
    value: Any = 1
    for _ in range(300):
        value = [value]
    put_setting = 'mutation($id: ID!, $v: JSON!) { putSetting(userId: $id, name: "n", value: $v) { value } }'
    assert await owner.error_code(put_setting, id=user, v=value) == "BAD_USER_INPUT"


async def test_a_field_that_fails_does_not_end_the_loads_of_another_field_of_the_same_user(owner: ApiClient) -> None:
    """Both fields wait for the same settings. graphql-core cancels those of the field that fails."""
    user = await create(owner, "a@x.example")
    answer = await owner.execute(
        """query($id: ID!) {
          failing: user(id: $id) { activity(after: "no cursor") { edges { cursor } } settings { name } }
          other: user(id: $id) { settings { name } }
        }""",
        id=user,
    )
    assert answer["data"] == {"failing": None, "other": {"settings": []}}
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["BAD_USER_INPUT"]
