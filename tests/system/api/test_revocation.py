"""A revoked token is refused from the next request on, by every server, unless a server caches the check."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from keyfence.auth.principal import Role
from keyfence.domains.sessions.revocation import RevocationRepository
from keyfence.domains.users.repository import UserRepository
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack

REVOKE = "mutation($jti: String!) { revokeSession(jti: $jti) }"
USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'


def token_id_of(session: ApiClient) -> str:
    return str(jwt.decode(session.token, options={"verify_signature": False})["jti"])


async def status_and_code(session: ApiClient, query: str = USERS) -> tuple[int, str | None]:
    answer = await session.post({"query": query})
    errors = answer.json().get("errors", [])
    return answer.status_code, errors[0]["extensions"]["code"] if errors else None


async def test_a_revoked_token_is_refused_on_every_server_and_other_tokens_of_the_user_are_not(
    stack: ServiceStack, owner: ApiClient
) -> None:
    revoked_client, other_client = (stack.api_client(owner.tenant, user="ann") for _ in range(2))
    other_server = stack.serve()
    revoked_on_other_server = replace(revoked_client, application=other_server)
    assert [await status_and_code(client) for client in (revoked_client, revoked_on_other_server)] == [(200, None)] * 2
    assert (await owner.data(REVOKE, jti=token_id_of(revoked_client))) == {"revokeSession": True}
    assert [await status_and_code(client) for client in (revoked_client, revoked_on_other_server)] == [
        (401, "UNAUTHENTICATED")
    ] * 2
    assert await status_and_code(other_client) == (200, None)


async def test_a_revoked_token_can_neither_read_nor_write(stack: ServiceStack, owner: ApiClient) -> None:
    revoked_client = stack.api_client(owner.tenant)
    await owner.data(REVOKE, jti=token_id_of(revoked_client))
    answer = await revoked_client.post({"query": CREATE})
    assert (answer.status_code, "data" in answer.json()) == (401, False)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (await UserRepository(stack.table(owner.tenant)).newest(first=5, after=None)).items == ()
    for malformed in ("{", "{ nothing }", "{ node(id: 7) { id } }"):
        assert (await status_and_code(revoked_client, malformed))[0] == 401


async def test_users_revoke_their_own_session_and_admins_any_session(stack: ServiceStack, owner: ApiClient) -> None:
    viewer, member, admin = (stack.api_client(owner.tenant, role) for role in (Role.VIEWER, Role.MEMBER, Role.ADMIN))
    assert await viewer.error_code(REVOKE, jti=token_id_of(member)) == "FORBIDDEN"
    assert await member.error_code(REVOKE, jti="nobody-knows") == "FORBIDDEN"
    await viewer.data(REVOKE, jti=token_id_of(viewer))
    assert await viewer.error_code(USERS) == "UNAUTHENTICATED"
    await admin.data(REVOKE, jti=token_id_of(member))
    assert await member.error_code(USERS) == "UNAUTHENTICATED"
    await admin.data(REVOKE, jti="nobody-knows")
    await admin.data(REVOKE, jti="nobody-knows")


async def test_a_revocation_of_another_tenant_has_no_effect(stack: ServiceStack, owner: ApiClient) -> None:
    neighbour = stack.api_client(await stack.new_tenant())
    await neighbour.data(REVOKE, jti=token_id_of(owner))
    assert await status_and_code(owner) == (200, None)


@pytest.mark.parametrize("text", ["", "x" * 257, "a\nb", "\x00"])
async def test_an_invalid_token_id_is_refused(owner: ApiClient, text: str) -> None:
    (error,) = (await owner.execute(REVOKE, jti=text))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "jti")


async def test_an_expired_revocation_has_no_effect_though_still_stored(stack: ServiceStack, tenant: TenantId) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=31)
    session = stack.api_client(tenant)
    await RevocationRepository(stack.table(tenant), now=lambda: long_ago).revoke(token_id_of(session), "somebody")
    assert await status_and_code(session) == (200, None)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    await RevocationRepository(stack.table(tenant), now=lambda: yesterday).revoke(token_id_of(session), "somebody")
    assert await status_and_code(session) == (401, "UNAUTHENTICATED")


async def test_every_request_checks_once_consistently_with_a_read_session(
    stack: ServiceStack, owner: ApiClient
) -> None:
    await owner.data(USERS)
    for query in (USERS, CREATE, "{ viewer { subject } }", "{ nothing }"):
        stack.take_calls()
        await owner.execute(query)
        (check,) = [call for call in stack.take_calls() if "REVOCATION#" in str(call.parameters.get("RequestItems"))]
        (read,) = check.parameters["RequestItems"].values()
        assert [key["PK"]["S"] for key in read["Keys"]] == [
            f"TENANT#{owner.tenant}#REVOCATION#JTI#{token_id_of(owner)}",
            f"TENANT#{owner.tenant}#REVOCATION#SUB#somebody",
        ]
        assert read["ConsistentRead"] is True
        session = stack.gate.session_issuer.get(check.credentials.access_key, check.credentials.token or "")
        assert session.role.name == "keyfence-tenant-read"


async def test_with_a_cache_time_queries_check_once_in_that_time_and_mutations_each_time(
    stack: ServiceStack, owner: ApiClient
) -> None:
    settings = stack.settings.model_copy(update={"revocation_seconds": 60.0})
    client = replace(owner, application=stack.serve(settings=settings))
    await client.data(USERS)
    stack.take_calls()
    await client.data(USERS)
    assert [call.operation for call in stack.take_calls()] == ["Query"]
    await owner.data(REVOKE, jti=token_id_of(owner))
    await client.data(USERS)
    assert await client.error_code(REVOKE, jti="other") == "UNAUTHENTICATED"
    assert await client.error_code(USERS) == "UNAUTHENTICATED", "the mutation has removed the token from the cache"
