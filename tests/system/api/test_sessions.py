"""Every call for data uses a session with the least permissions, and the service does not bypass a denial of IAM."""

from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest

from keyfence.auth.principal import Role
from keyfence.domains.users.repository import UserRepository
from keyfence.store.dynamodb.credentials import TenantCredentials
from keyfence_iam.gate.account.session import Session as GateSession
from keyfence_iam.sts import SessionCache
from keyfence_iam.suspension.deny_policies import deny_tenants_policy
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget
from tests.stack import ApiClient, ServiceStack

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'
CREATE_AND_READ = (
    'mutation { updateUser: createUser(input: {email: "one@x.example", name: "N"}) { id groups { edges { role } } } }'
)


@pytest.fixture
def account(stack: ServiceStack) -> Iterator[None]:
    """Restores the roles of the account after a test that changes them."""
    original_account = stack.gate.account
    yield
    stack.gate.account = original_account


def sessions_of_calls(stack: ServiceStack) -> list[GateSession]:
    """Returns the sessions that signed the calls since the last call of this function."""
    keys = [call.credentials for call in stack.take_calls()]
    return [stack.gate.session_issuer.get(key.access_key, key.token or "") for key in keys]


async def client_of_new_server(stack: ServiceStack, tenant: TenantId) -> ApiClient:
    """Returns a client of a new server, which has no tenant in its cache."""
    application = stack.serve()
    return replace(stack.api_client(tenant), application=application)


async def metric_value(client: ApiClient, metric: str) -> int:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(client.application), base_url="http://x") as http:
        text = (await http.get("/metrics")).text
    return sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith(metric))


async def test_a_query_is_signed_with_a_session_that_cannot_write(stack: ServiceStack, owner: ApiClient) -> None:
    stack.take_calls()
    await owner.data(USERS)
    query_sessions = [session for session in sessions_of_calls(stack) if session.tags]
    assert {(session.role.name, session.tags["tenant"]) for session in query_sessions} == {
        ("keyfence-tenant-read", owner.tenant)
    }


@pytest.mark.parametrize("mutation", [CREATE, CREATE_AND_READ], ids=["write", "write and read"])
async def test_a_mutation_is_signed_with_the_tenants_write_session(
    stack: ServiceStack, owner: ApiClient, mutation: str
) -> None:
    await owner.data(USERS)
    stack.take_calls()
    await owner.data(mutation)
    revocation_check_session, *mutation_sessions = sessions_of_calls(stack)
    assert (revocation_check_session.role.name, revocation_check_session.tags["tenant"]) == (
        "keyfence-tenant-read",
        owner.tenant,
    )
    assert {(session.role.name, session.tags["tenant"]) for session in mutation_sessions} == {
        ("keyfence-tenant-write", owner.tenant)
    }


async def test_tenants_are_read_with_a_narrowed_session_of_the_control_plane(
    stack: ServiceStack, tenant: TenantId
) -> None:
    caller = await client_of_new_server(stack, tenant)
    stack.take_calls()
    await caller.data("{ viewer { tenant { name } } }")
    session, revocation_check_session = sessions_of_calls(stack)
    assert (session.role.name, session.tags) == ("keyfence-control-plane", {})
    assert revocation_check_session.tags == {"tenant": tenant}
    assert session.policies is not None


async def test_two_tenants_never_share_a_session(stack: ServiceStack) -> None:
    first_tenant, second_tenant = await stack.new_tenant(), await stack.new_tenant()
    stack.take_calls()
    for _ in range(2):
        for tenant in (first_tenant, second_tenant):
            await stack.api_client(tenant).data(USERS)
    tenants_and_keys = {
        (session.tags["tenant"], session.access_key) for session in sessions_of_calls(stack) if session.tags
    }
    assert sorted(tenant for tenant, _ in tenants_and_keys) == sorted((first_tenant, second_tenant))
    assert len({key for _, key in tenants_and_keys}) == 2


@pytest.mark.usefixtures("account")
async def test_a_tenant_that_iam_denies_is_refused_and_counted_and_others_are_served(stack: ServiceStack) -> None:
    victim, neighbour = await stack.new_tenant(), await stack.new_tenant()
    client = await client_of_new_server(stack, victim)
    await client.data(USERS)
    stack.gate.account = stack.gate.account.with_policy("tenant-read", deny_tenants_policy([victim]))
    answer = await client.execute(USERS)
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "FORBIDDEN"
    assert "arn:" not in str(answer)
    assert await metric_value(client, "keyfence_dynamodb_denied_calls_total") == 2, (
        "the list and the check for a revocation are denied"
    )
    await stack.api_client(neighbour).data(USERS)


async def test_the_service_cannot_reach_another_tenant_even_with_wrong_keys(stack: ServiceStack) -> None:
    tenant, other_tenant = await stack.new_tenant(), await stack.new_tenant()
    victim = await UserRepository(stack.table(other_tenant)).create(email="v@x.example", name="V", role=Role.MEMBER)
    table_with_wrong_fence = replace(stack.table(tenant), fence=stack.table(other_tenant).fence)
    with pytest.raises(Exception, match="do not allow") as denial:
        await UserRepository(table_with_wrong_fence).get(victim.id)
    assert type(denial.value).__name__ == "Forbidden"


async def test_beyond_the_rate_of_sts_calls_a_new_tenant_is_throttled_with_a_retry_time(stack: ServiceStack) -> None:
    tenant = await stack.new_tenant()
    session_cache = SessionCache(stack.session_cache._assume, budget=call_budget(0.5))
    tables = replace(stack.tables, credentials=TenantCredentials(session_cache))
    application = stack.serve(tables=tables, sessions=session_cache)
    answer = await replace(stack.api_client(tenant), application=application).post({"query": USERS})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "THROTTLED"
    assert 0 < error["extensions"]["retryAfterMs"] <= 2000
    session_cache.close()


async def test_sessions_are_counted(stack: ServiceStack, owner: ApiClient) -> None:
    await owner.data(USERS)
    assert await metric_value(owner, 'keyfence_sts_sessions_total{event="issued"}') > 0
