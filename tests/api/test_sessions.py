"""Every data call is signed with a session that has the least rights, and a denial by IAM is final."""

from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.store.dynamodb.credentials import TenantCredentials
from keyfence_iam.gate.account.session import Session as GateSession
from keyfence_iam.sts import SessionCache
from keyfence_iam.suspension.policy import deny_tenants_policy
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget
from tests.stack import Session, World

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'
BOTH = (
    'mutation { updateUser: createUser(input: {email: "one@x.example", name: "N"}) { id groups { edges { role } } } }'
)


@pytest.fixture
def account(world: World) -> Iterator[None]:
    """Undoes what a test changes in the roles of the account."""
    before = world.gate.account
    yield
    world.gate.account = before


def signed(world: World) -> list[GateSession]:
    """Return the sessions of the calls since the last time."""
    keys = [call.credentials for call in world.calls()]
    return [world.gate.sessions.get(key.access_key, key.token or "") for key in keys]


async def fresh(world: World, tenant: TenantId) -> Session:
    """A service that has no cached tenant and must read it."""
    application = world.serve()
    return replace(world.session(tenant), application=application)


async def counted(session: Session, metric: str) -> int:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(session.application), base_url="http://x") as http:
        text = (await http.get("/metrics")).text
    return sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith(metric))


async def test_a_query_is_signed_with_a_session_that_cannot_write(world: World, owner: Session) -> None:
    world.calls()
    await owner.ask(USERS)
    reading = [session for session in signed(world) if session.tags]
    assert {(session.role.name, session.tags["tenant"]) for session in reading} == {
        ("keyfence-tenant-read", owner.tenant)
    }


@pytest.mark.parametrize("mutation", [CREATE, BOTH], ids=["write", "write and read"])
async def test_a_mutation_is_signed_with_the_tenants_write_session(world: World, owner: Session, mutation: str) -> None:
    await owner.ask(USERS)
    world.calls()
    await owner.ask(mutation)
    standing, *writing = signed(world)
    assert (standing.role.name, standing.tags["tenant"]) == ("keyfence-tenant-read", owner.tenant)
    assert {(session.role.name, session.tags["tenant"]) for session in writing} == {
        ("keyfence-tenant-write", owner.tenant)
    }


async def test_tenants_are_read_with_a_narrowed_session_of_the_control_plane(world: World, tenant: TenantId) -> None:
    caller = await fresh(world, tenant)
    world.calls()
    await caller.ask("{ viewer { tenant { name } } }")
    session, standing = signed(world)
    assert (session.role.name, session.tags) == ("keyfence-control-plane", {})
    assert standing.tags == {"tenant": tenant}
    assert session.policies is not None


async def test_two_tenants_never_share_a_session(world: World) -> None:
    one, other = await world.new_tenant(), await world.new_tenant()
    world.calls()
    for _ in range(2):
        for tenant in (one, other):
            await world.session(tenant).ask(USERS)
    found = {(session.tags["tenant"], session.access_key) for session in signed(world) if session.tags}
    assert sorted(tenant for tenant, _ in found) == sorted((one, other))
    assert len({key for _, key in found}) == 2


@pytest.mark.usefixtures("account")
async def test_a_tenant_that_iam_denies_is_refused_and_counted_and_others_are_served(world: World) -> None:
    victim, neighbour = await world.new_tenant(), await world.new_tenant()
    session = await fresh(world, victim)
    await session.ask(USERS)
    world.gate.account = world.gate.account.with_policy("tenant-read", deny_tenants_policy([victim]))
    answer = await session.answer(USERS)
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    assert "arn:" not in str(answer)
    assert await counted(session, "keyfence_dynamodb_denied_calls_total") == 2, "the list, and whether the token stands"
    await world.session(neighbour).ask(USERS)


async def test_the_service_cannot_reach_another_tenant_even_with_wrong_keys(world: World) -> None:
    one, other = await world.new_tenant(), await world.new_tenant()
    victim = await UserRepository(world.table(other)).create(email="v@x.example", name="V", role=Role.MEMBER)
    confused = replace(world.table(one), fence=world.table(other).fence)
    with pytest.raises(Exception, match="do not allow") as refused:
        await UserRepository(confused).get(victim.id)
    assert type(refused.value).__name__ == "Forbidden"


async def test_beyond_the_rate_of_sts_calls_a_new_tenant_is_throttled_with_a_retry_time(world: World) -> None:
    tenant = await world.new_tenant()
    vending = SessionCache(world.vending._assume, budget=call_budget(0.5))
    tables = replace(world.tables, credentials=TenantCredentials(vending))
    application = world.serve(tables=tables, sessions=vending)
    answer = await replace(world.session(tenant), application=application).post({"query": USERS})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "THROTTLED"
    assert 0 < error["extensions"]["retryAfterMs"] <= 2000
    vending.close()


async def test_sessions_are_counted(world: World, owner: Session) -> None:
    await owner.ask(USERS)
    assert await counted(owner, 'keyfence_sts_sessions_total{event="issued"}') > 0
