"""The application of `keyfence serve` works with the credentials of its base role, which never sign a data call."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from starlette.applications import Starlette

from keyfence.app.production import application
from keyfence_iam.roles.names import SERVICE_BASE
from keyfence_iam.tenant import TenantId
from tests.stack import ApiClient, ServiceStack
from tests.system.api.production_environment import ISSUER, KID, production_environment

USERS = "{ users { edges { node { email } } } }"
CREATE = 'mutation { createUser(input: {email: "new@x.example", name: "New"}) { id } }'


@pytest.fixture
def production(stack: ServiceStack, monkeypatch: pytest.MonkeyPatch) -> Starlette:
    """The production application. Its environment names the gate as AWS and contains a session of `service-base`."""
    for name, value in production_environment(stack).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("keyfence.log.configure", lambda **_: None)
    return application()


def client_of(stack: ServiceStack, application: Starlette, tenant: TenantId) -> ApiClient:
    now = datetime.now(UTC)
    claims = {"iss": ISSUER, "aud": "keyfence", "sub": "somebody", "jti": "1", "tenant": tenant, "role": "OWNER"}
    timed_claims = {**claims, "iat": now, "exp": now + timedelta(minutes=5)}
    return ApiClient(application, jwt.encode(timed_claims, stack.issuer.key, "ES256", headers={"kid": KID}), tenant)


async def test_the_service_assumes_each_tenants_role_with_its_own_credentials(
    stack: ServiceStack, production: Starlette, tenant: TenantId
) -> None:
    caller = client_of(stack, production, tenant)
    await caller.data(CREATE)
    data = await caller.data(USERS)
    assert [edge["node"]["email"] for edge in data["users"]["edges"]] == ["new@x.example"]


async def test_the_role_of_the_service_itself_reads_nothing(stack: ServiceStack) -> None:
    client = stack.role_boto_client(SERVICE_BASE)
    key = {"PK": {"S": "TENANT#acme#USER#1"}, "SK": {"S": "PROFILE"}}
    with pytest.raises(client.exceptions.ClientError) as denial:
        client.get_item(TableName=stack.settings.table, Key=key)
    assert denial.value.response["Error"]["Code"] == "AccessDeniedException"


async def test_a_service_that_may_assume_no_role_serves_nothing(
    stack: ServiceStack, production: Starlette, tenant: TenantId
) -> None:
    before = stack.gate.account
    stack.gate.account = before.with_role(replace(before.get_role(SERVICE_BASE), id="AROAANOTHERROLEOFTHAT"))
    answer = await client_of(stack, production, tenant).post({"query": USERS})
    stack.gate.account = before
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (500, "INTERNAL")
