"""A revoked token is refused from the next request on, by every server."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from keyfence.auth.principal import Role
from keyfence.domains.sessions.revocation import RevocationRepository
from keyfence.domains.users.repository import UserRepository
from keyfence_iam.tenant import TenantId
from tests.stack import Session, World

REVOKE = "mutation($jti: String!) { revokeSession(jti: $jti) }"
USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'


def jti(session: Session) -> str:
    return str(jwt.decode(session.token, options={"verify_signature": False})["jti"])


async def status(session: Session, query: str = USERS) -> tuple[int, str | None]:
    answer = await session.post({"query": query})
    errors = answer.json().get("errors", [])
    return answer.status_code, errors[0]["extensions"]["code"] if errors else None


async def test_a_revoked_token_is_refused_on_every_server_and_other_tokens_of_the_user_are_not(
    world: World, owner: Session
) -> None:
    stolen, kept = (world.session(owner.tenant, user="ann") for _ in range(2))
    other_server = world.serve()
    elsewhere = replace(stolen, application=other_server)
    assert [await status(one) for one in (stolen, elsewhere)] == [(200, None)] * 2
    assert (await owner.ask(REVOKE, jti=jti(stolen))) == {"revokeSession": True}
    assert [await status(one) for one in (stolen, elsewhere)] == [(401, "UNAUTHENTICATED")] * 2
    assert await status(kept) == (200, None)


async def test_a_revoked_token_can_neither_read_nor_write(world: World, owner: Session) -> None:
    stolen = world.session(owner.tenant)
    await owner.ask(REVOKE, jti=jti(stolen))
    answer = await stolen.post({"query": CREATE})
    assert (answer.status_code, "data" in answer.json()) == (401, False)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (await UserRepository(world.table(owner.tenant)).newest(first=5, after=None)).items == ()
    for malformed in ("{", "{ nothing }", "{ node(id: 7) { id } }"):
        assert (await status(stolen, malformed))[0] == 401


async def test_users_revoke_their_own_session_and_admins_any_session(world: World, owner: Session) -> None:
    viewer, member, admin = (world.session(owner.tenant, role) for role in (Role.VIEWER, Role.MEMBER, Role.ADMIN))
    assert await viewer.refusal(REVOKE, jti=jti(member)) == "FORBIDDEN"
    assert await member.refusal(REVOKE, jti="nobody-knows") == "FORBIDDEN"
    await viewer.ask(REVOKE, jti=jti(viewer))
    assert await viewer.refusal(USERS) == "UNAUTHENTICATED"
    await admin.ask(REVOKE, jti=jti(member))
    assert await member.refusal(USERS) == "UNAUTHENTICATED"
    await admin.ask(REVOKE, jti="nobody-knows")
    await admin.ask(REVOKE, jti="nobody-knows")


async def test_a_revocation_of_another_tenant_has_no_effect(world: World, owner: Session) -> None:
    neighbour = world.session(await world.new_tenant())
    await neighbour.ask(REVOKE, jti=jti(owner))
    assert await status(owner) == (200, None)


@pytest.mark.parametrize("text", ["", "x" * 257, "a\nb", "\x00"])
async def test_an_invalid_token_id_is_refused(owner: Session, text: str) -> None:
    (error,) = (await owner.answer(REVOKE, jti=text))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "jti")


async def test_an_expired_revocation_has_no_effect_though_still_stored(world: World, tenant: TenantId) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=31)
    session = world.session(tenant)
    await RevocationRepository(world.table(tenant), now=lambda: long_ago).revoke(jti(session), "somebody")
    assert await status(session) == (200, None)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    await RevocationRepository(world.table(tenant), now=lambda: yesterday).revoke(jti(session), "somebody")
    assert await status(session) == (401, "UNAUTHENTICATED")


async def test_every_request_checks_once_consistently_with_a_read_session(world: World, owner: Session) -> None:
    await owner.ask(USERS)
    for query in (USERS, CREATE, "{ viewer { subject } }", "{ nothing }"):
        world.calls()
        await owner.answer(query)
        (asked,) = [call for call in world.calls() if call.operation == "GetItem"]
        assert asked.parameters["Key"]["PK"]["S"] == f"TENANT#{owner.tenant}#SESSION#{jti(owner)}"
        assert asked.parameters["ConsistentRead"] is True
        found = world.gate.sessions.get(asked.credentials.access_key, asked.credentials.token or "")
        assert found.role.name == "keyfence-tenant-read"


async def test_with_a_cache_time_the_check_is_made_once_in_that_time(world: World, owner: Session) -> None:
    settings = world.settings.model_copy(update={"revocation_seconds": 60.0})
    patient = replace(owner, application=world.serve(settings=settings))
    await patient.ask(USERS)
    world.calls()
    await patient.ask(USERS)
    assert [call.operation for call in world.calls()] == ["Query"]
