"""The tokens of a deleted user are refused from the next request on. Tokens that are issued later are accepted."""

from dataclasses import replace
from typing import Any

import jwt
import pytest

from keyfence.auth.claims import MAX_TOKEN_LIFETIME_SECONDS
from keyfence.auth.principal import Role
from keyfence.domains.sessions.revocation import Revocation, RevocationScope, revocations_of_token
from keyfence.domains.users.model import UserId
from keyfence.domains.users.repository import UserRepository
from tests.failures.faulty_change import FaultyChange, error_code
from tests.stack import ApiClient, ServiceStack

CREATE = "mutation($email: String!) { createUser(input: {email: $email, name: $email}) { id } }"
DELETE = "mutation($id: ID!) { deleteUser(id: $id) }"
USERS = "{ users { edges { node { email } } } }"


@pytest.fixture
async def user(owner: ApiClient) -> str:
    return await create_user(owner)


async def create_user(owner: ApiClient, email: str = "ann@x.example") -> str:
    user_id: str = (await owner.data(CREATE, email=email))["createUser"]["id"]
    return user_id


async def status(client: ApiClient, query: str = USERS) -> int:
    return (await client.post({"query": query})).status_code


async def find_revocation(stack: ServiceStack, client: ApiClient, user: str) -> Revocation:
    found = await stack.table(client.tenant).find(revocations_of_token, scope=RevocationScope.SUB, id=user)
    assert found is not None
    return found


def client_issued_at(stack: ServiceStack, owner: ApiClient, user: str, issued_at: float) -> ApiClient:
    """Returns a client of the user whose token has this `iat`."""
    client = stack.api_client(owner.tenant, user=user)
    claims: dict[str, Any] = jwt.decode(client.token, options={"verify_signature": False})
    token = jwt.encode(
        {**claims, "iat": issued_at}, stack.issuer.key, algorithm="ES256", headers={"kid": stack.issuer.kid}
    )
    return replace(client, token=token)


async def test_a_deleted_users_tokens_are_refused_on_every_server_and_other_users_go_on(
    stack: ServiceStack, owner: ApiClient, user: str
) -> None:
    other_user = await create_user(owner, "bob@x.example")
    clients = [stack.api_client(owner.tenant, user=user) for _ in range(2)]
    clients.append(replace(clients[0], application=stack.serve()))
    others = [owner, stack.api_client(owner.tenant, user=other_user), stack.api_client(owner.tenant, user="machine")]
    assert [await status(client) for client in (*clients, *others)] == [200] * 6
    await owner.data(DELETE, id=user)
    assert [await status(client) for client in clients] == [401] * 3
    assert [await status(client) for client in others] == [200] * 3


async def test_the_error_is_that_of_a_revoked_token_and_nothing_is_written(
    stack: ServiceStack, owner: ApiClient, user: str
) -> None:
    client, revoked_client = (stack.api_client(owner.tenant, user=user) for _ in range(2))
    jti = jwt.decode(revoked_client.token, options={"verify_signature": False})["jti"]
    await owner.data("mutation($jti: String!) { revokeSession(jti: $jti) }", jti=jti)
    await owner.data(DELETE, id=user)
    mutation = {"query": CREATE, "variables": {"email": "new@x.example"}}
    answers = [await each.post(mutation) for each in (client, revoked_client)]
    assert answers[0].status_code == answers[1].status_code == 401
    assert answers[0].headers["www-authenticate"] == answers[1].headers["www-authenticate"]
    errors = [answer.json()["errors"][0] for answer in answers]
    assert (errors[0]["message"], errors[0]["extensions"]["code"]) == ("the token has been revoked", "UNAUTHENTICATED")
    assert errors[0]["message"] == errors[1]["message"]
    assert (await UserRepository(stack.table(owner.tenant)).newest(first=5, after=None)).items == ()


async def test_the_same_subject_of_another_tenant_goes_on(stack: ServiceStack, owner: ApiClient, user: str) -> None:
    neighbour = stack.api_client(await stack.new_tenant(), user=user)
    await owner.data(DELETE, id=user)
    assert await status(neighbour) == 200


async def test_tokens_are_ended_up_to_the_second_of_the_deletion(
    stack: ServiceStack, owner: ApiClient, user: str
) -> None:
    await owner.data(DELETE, id=user)
    issued_until = (await find_revocation(stack, owner, user)).issued_until
    assert issued_until is not None
    for issued_at, expected in (
        (issued_until - 1, 401),
        (issued_until, 401),
        (issued_until + 0.9, 401),
        (issued_until + 1, 200),
    ):
        assert await status(client_issued_at(stack, owner, user, issued_at)) == expected, issued_at


async def test_a_user_that_is_created_anew_needs_a_new_token(stack: ServiceStack, owner: ApiClient, user: str) -> None:
    old_client = stack.api_client(owner.tenant, user=user)
    await owner.data(DELETE, id=user)
    issued_until = (await find_revocation(stack, owner, user)).issued_until
    assert issued_until is not None
    users = UserRepository(stack.table(owner.tenant))
    await users.create(email="ann@x.example", name="Ann", role=Role.MEMBER, id=UserId(user))
    assert await status(old_client) == 401
    new_client = client_issued_at(stack, owner, user, issued_until + 1)
    assert (await new_client.data("{ viewer { user { id } } }"))["viewer"]["user"]["id"] == user


async def test_the_item_outlives_every_token_that_it_ends(stack: ServiceStack, owner: ApiClient, user: str) -> None:
    await owner.data(DELETE, id=user)
    revocation = await find_revocation(stack, owner, user)
    assert revocation.issued_until is not None
    assert revocation.ttl > revocation.issued_until + MAX_TOKEN_LIFETIME_SECONDS
    assert revocation.actor == "somebody"


async def test_a_deletion_whose_answer_was_lost_has_ended_the_tokens_and_so_has_its_repetition(
    stack: ServiceStack, owner: ApiClient, user: str
) -> None:
    change, item_key = FaultyChange.of_mutation(stack, owner, DELETE, id=user), f"#REVOCATION#SUB#{user}"
    client = stack.api_client(owner.tenant, user=user)
    outcomes = [outcome async for outcome in change.failed_and_repeated("lost_response")]
    assert len(outcomes) > 1
    for outcome in outcomes:
        assert error_code(outcome.failed_answer) == "INTERNAL"
        kept, repeated = (
            [item for item in snapshot.items if item["PK"]["S"].endswith(item_key)]
            for snapshot in (outcome.items_after_failure, outcome.items_after_repetition)
        )
        assert len(kept) == 1
        assert kept == repeated
    assert await status(client) == 401


async def test_the_owner_who_deletes_themselves_gets_the_answer_and_is_refused_afterwards(
    stack: ServiceStack, owner: ApiClient, user: str
) -> None:
    client = stack.api_client(owner.tenant, user=user)
    assert (await client.data(DELETE, id=user))["deleteUser"] == user
    assert await status(client) == 401
