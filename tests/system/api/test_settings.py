"""The settings of a user are private: only the user, an ADMIN and an OWNER can read them, on every path."""

from collections.abc import Iterator
from typing import Any

import pytest

from keyfence.auth.principal import Role
from tests.stack import ApiClient, ServiceStack

CREATE = 'mutation($email: String!) { createUser(input: {email: $email, name: "N"}) { id } }'
PUT = 'mutation($user: ID!) { putSetting(userId: $user, name: "theme", value: "dark") { name } }'
ADD = "mutation($group: ID!, $user: ID!) { addMember(groupId: $group, userId: $user) { cursor } }"
USER = "id name settings { name value }"
PATHS = {
    "user": f"user(id: $user) {{ {USER} }}",
    "userByEmail": f'userByEmail(email: "other@x.example") {{ {USER} }}',
    "node": f"node(id: $user) {{ ... on User {{ {USER} }} }}",
    "users": f"users {{ edges {{ node {{ {USER} }} }} }}",
    "members of a group": f"group(id: $group) {{ members {{ edges {{ node {{ {USER} }} }} }} }}",
    "members of groups": f"""groups(first: 5) {{
        edges {{ node {{ members(first: 5) {{ edges {{ node {{ {USER} }} }} }} }} }}
    }}""",
    "groups of a user": f"""user(id: $own) {{
        groups(first: 5) {{ edges {{ node {{ members(first: 5) {{ edges {{ node {{ {USER} }} }} }} }} }} }}
    }}""",
}
"""Every way from a query to another user."""


@pytest.fixture
async def ids(owner: ApiClient) -> dict[str, str]:
    """Returns the ids of two users with a setting each, and of a group that both are members of."""
    emails = {"own": "own@x.example", "user": "other@x.example"}
    users = {name: (await owner.data(CREATE, email=email))["createUser"]["id"] for name, email in emails.items()}
    group = (await owner.data('mutation { createGroup(input: {name: "G"}) { id } }'))["createGroup"]["id"]
    for user in users.values():
        await owner.data(PUT, user=user)
        await owner.data(ADD, group=group, user=user)
    return {**users, "group": group}


def document(path: str) -> str:
    declarations = [f"${name}: ID!" for name in ("own", "user", "group") if f"${name}" in PATHS[path]]
    return f"query{'(' + ', '.join(declarations) + ')' if declarations else ''} {{ {PATHS[path]} }}"


def users_in(answer: Any) -> Iterator[dict[str, Any]]:
    """Yields every user in the data of an answer."""
    if isinstance(answer, dict) and "settings" in answer:
        yield answer
    for part in answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else ():
        yield from users_in(part)


def value_at(data: Any, path: list[Any]) -> Any:
    for part in path:
        data = data[part]
    return data


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
@pytest.mark.parametrize("path", PATHS)
async def test_settings_of_others_are_null_with_an_error_at_their_path_and_the_rest_is_returned(
    stack: ServiceStack, owner: ApiClient, ids: dict[str, str], path: str, role: Role
) -> None:
    caller = stack.api_client(owner.tenant, role, user=ids["own"])
    answer = await caller.execute(document(path), **ids)
    settings_by_user = {user["id"]: user["settings"] for user in users_in(answer["data"])}
    own_settings = {ids["own"]: [{"name": "theme", "value": "dark"}]} if ids["own"] in settings_by_user else {}
    assert settings_by_user == {ids["user"]: None, **own_settings}
    assert {user["name"] for user in users_in(answer["data"])} == {"N"}
    assert [error["extensions"] for error in answer["errors"]] == [{"code": "FORBIDDEN"}] * len(answer["errors"])
    for error in answer["errors"]:
        assert error["path"][-1] == "settings"
        assert value_at(answer["data"], error["path"][:-1])["id"] == ids["user"]


@pytest.mark.parametrize("role", [Role.ADMIN, Role.OWNER])
@pytest.mark.parametrize("path", PATHS)
async def test_an_admin_and_an_owner_read_the_settings_of_every_user(
    stack: ServiceStack, owner: ApiClient, ids: dict[str, str], path: str, role: Role
) -> None:
    users = list(users_in(await stack.api_client(owner.tenant, role).data(document(path), **ids)))
    assert ids["user"] in {user["id"] for user in users}
    assert all(user["settings"] == [{"name": "theme", "value": "dark"}] for user in users)


@pytest.mark.parametrize("role", Role)
async def test_everyone_reads_the_settings_of_the_own_user(
    stack: ServiceStack, owner: ApiClient, ids: dict[str, str], role: Role
) -> None:
    caller = stack.api_client(owner.tenant, role, user=ids["own"])
    queries = (
        f"viewer {{ user {{ {USER} }} }} user(id: $own) {{ {USER} }} node(id: $own) {{ ... on User {{ {USER} }} }}"
    )
    users = list(users_in(await caller.data(f"query($own: ID!) {{ {queries} }}", own=ids["own"])))
    assert [user["settings"] for user in users] == [[{"name": "theme", "value": "dark"}]] * 3


@pytest.mark.parametrize("path", PATHS)
async def test_refused_settings_cost_no_call(
    stack: ServiceStack, owner: ApiClient, ids: dict[str, str], path: str
) -> None:
    viewer = stack.api_client(owner.tenant, Role.VIEWER)
    query = document(path)
    operations = []
    for text in (query, query.replace("settings { name value }", "")):
        stack.take_calls()
        await viewer.execute(text, **ids)
        operations.append(stack.take_operations())
    assert operations[0] == operations[1]
