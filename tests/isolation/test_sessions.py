"""Expired, suspended and revoked sessions are denied every call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from keyfence.local import gate_access
from keyfence_iam.policy import Policy
from keyfence_iam.suspension.deny_policies import deny_sessions_before, deny_tenants_policy
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT, NEIGHBOUR = TenantId("a1"), TenantId("a10")
USERS_QUERY = "{ users { edges { node { id } } } }"


def _get_item(stack: ServiceStack, client: "DynamoDBClient", tenant: TenantId) -> Callable[[], object]:
    key = {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#1"}, "SK": {"S": "PROFILE"}}
    return lambda: client.get_item(TableName=stack.tables.name, Key=key)


def _denial_of(read: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(ClientError) as denial:
        read()
    error = denial.value.response["Error"]
    return error["Code"], error["Message"]


@contextmanager
def attached_policy(stack: ServiceStack, policy: Policy) -> Iterator[None]:
    """Attaches another policy to the tenant roles, as an operator can."""
    account = stack.gate.account
    stack.gate.account = account.with_policy("tenant-read", policy).with_policy("tenant-write", policy)
    try:
        yield
    finally:
        stack.gate.account = account


def test_an_expired_session_gets_the_expired_token_error(stack: ServiceStack, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, now = stack.gate.session_issuer, datetime.now(UTC)
    monkeypatch.setattr(sessions, "clock", lambda: now - timedelta(seconds=600))
    issued = gate_access.tenant_session(sessions, TENANT, may_write=False)
    read = _get_item(stack, stack.boto_client_with(issued.credentials), TENANT)
    monkeypatch.setattr(sessions, "clock", lambda: issued.session.expires_at - timedelta(seconds=1))
    read()
    monkeypatch.setattr(sessions, "clock", lambda: issued.session.expires_at)
    code, message = _denial_of(read)
    assert (code, message) == ("ExpiredTokenException", "The security token included in the request is expired")


def test_a_suspended_tenants_live_sessions_are_denied_immediately_and_no_others(stack: ServiceStack) -> None:
    get_own_item, get_neighbours_item = (
        _get_item(stack, stack.boto_client(tenant), tenant) for tenant in (TENANT, NEIGHBOUR)
    )
    get_own_item()
    with attached_policy(stack, deny_tenants_policy([TENANT])):
        code, message = _denial_of(get_own_item)
        get_neighbours_item()
    assert code == "AccessDeniedException"
    assert message.endswith("with an explicit deny in an identity-based policy")
    get_own_item()


def test_a_revocation_denies_older_sessions_and_not_newer_ones(
    stack: ServiceStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    monkeypatch.setattr(stack.gate.session_issuer, "clock", lambda: now - timedelta(seconds=60))
    older = _get_item(stack, stack.boto_client(TENANT), TENANT)
    monkeypatch.setattr(stack.gate.session_issuer, "clock", lambda: now)
    newer = _get_item(stack, stack.boto_client(TENANT), TENANT)
    with attached_policy(stack, deny_sessions_before(now)):
        assert _denial_of(older)[0] == "AccessDeniedException"
        newer()


async def test_the_service_answers_forbidden_while_a_tenant_is_suspended_and_data_afterwards(
    stack: ServiceStack,
) -> None:
    tenant, neighbour = await stack.new_tenant(), await stack.new_tenant()
    await stack.api_client(tenant).data(USERS_QUERY)
    with attached_policy(stack, deny_tenants_policy([tenant])):
        assert await stack.api_client(tenant).error_code(USERS_QUERY) == "FORBIDDEN"
        await stack.api_client(neighbour).data(USERS_QUERY)
    await stack.api_client(tenant).data(USERS_QUERY)
