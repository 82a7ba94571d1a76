"""IAM itself denies a suspended tenant as soon as the suspender has answered, and no other tenant."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError

from keyfence.local import gate_access
from keyfence.tenancy.suspensions import PublishSuspensions
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import new_gate_key
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from keyfence_iam.sts.session_spec import tenant_session
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.isolation.catalogue_calls import Call, one_call_of_each_kind
from tests.isolation.denials import assert_allowed, assert_denied
from tests.isolation.partitions import PARTITIONS, Caller
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT, NEIGHBOUR = TenantId("a1"), TenantId("a10")
CALLS = tuple(call for call in one_call_of_each_kind() if call.realm == "tenant")
OWN, NEXT_DOOR = PARTITIONS["its own"], PARTITIONS["the neighbour that a careless prefix lets in"]
TENANT_ROLES = ("tenant-read", "tenant-write")
EVERYTHING = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}


def unfenced(table: str) -> dict[str, dict[str, Any]]:
    named = {"TableName": table}
    statement = {"Statement": f'SELECT * FROM "{table}"'}
    return {
        "scan": named,
        "describe_table": named,
        "delete_table": named,
        "list_tables": {},
        "execute_statement": statement,
    }


@pytest.fixture
async def shut(stack: ServiceStack) -> AsyncIterator[PublishSuspensions]:
    shut = stack.connections.publish_suspensions
    yield shut
    await shut([])


def _reading(stack: ServiceStack, tenant: TenantId) -> dict[str, Any]:
    return {"TableName": stack.tables.name, "Key": _key(tenant, "PROFILE")}


def _key(tenant: TenantId, sort: str) -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#1"}, "SK": {"S": sort}}


def _migrating(stack: ServiceStack, tenant: TenantId) -> "DynamoDBClient":
    sessions = stack.gate.sessions
    request = AssumeRoleRequest(
        role_arn=stack.gate.account.get_role("tenant-migration").arn, session_name="mover", tags={"tenant": tenant}
    )
    return stack.boto_client_with(
        assume_role(request, sessions.issue_service_session("migrator").session, sessions).credentials
    )


def boto_of(stack: ServiceStack, service: Any, credentials: Credentials) -> Any:
    return boto3.Session().client(
        service,
        region_name="us-east-1",
        endpoint_url=stack.gate.url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
    )


async def test_live_sessions_are_denied_every_kind_of_call_and_a_neighbours_are_not(
    stack: ServiceStack, shut: PublishSuspensions
) -> None:
    clients = {read_only: stack.boto_client(TENANT, read_only=read_only) for read_only in (True, False)}
    neighbour = stack.boto_client(NEIGHBOUR)
    await shut([TENANT])
    for call in CALLS:
        for read_only, client in clients.items():
            denial = assert_denied(client, call.operation, call.parameters(stack.tables.name, OWN))
            assert denial["role"] == f"keyfence-{TENANT_ROLES[not read_only]}"
            assert denial["explicit"]
        assert_allowed(neighbour, call.operation, call.parameters(stack.tables.name, NEXT_DOOR))


async def test_the_next_page_of_a_list_that_is_being_read_is_denied(
    stack: ServiceStack, shut: PublishSuspensions
) -> None:
    engine, client = stack.engine_client(), stack.boto_client(TENANT, read_only=True)
    for number in range(4):
        engine.put_item(TableName=stack.tables.name, Item=_key(TENANT, f"NOTE#{number}"))
    pages = _pages(stack, client)
    assert [item["SK"]["S"] for item in next(pages) + next(pages)] == ["NOTE#0", "NOTE#1"]
    await shut([TENANT])
    with pytest.raises(ClientError, match="AccessDeniedException"):
        next(pages)
    await shut([])
    assert [item["SK"]["S"] for page in _pages(stack, client) for item in page] == [f"NOTE#{n}" for n in range(4)]


def _pages(stack: ServiceStack, client: "DynamoDBClient") -> Iterator[list[Any]]:
    start: dict[str, Any] = {}
    while True:
        answer = client.query(
            TableName=stack.tables.name,
            KeyConditionExpression="PK = :p AND begins_with(SK, :n)",
            ExpressionAttributeValues={":p": _key(TENANT, "")["PK"], ":n": {"S": "NOTE#"}},
            Limit=1,
            **start,
        )
        yield answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


async def test_old_and_new_sessions_are_denied_and_both_are_allowed_again_afterwards(
    stack: ServiceStack, shut: PublishSuspensions
) -> None:
    await shut([TENANT])
    new = stack.boto_client(TENANT)
    assert assert_denied(new, "GetItem", _reading(stack, TENANT))["explicit"]
    await shut([NEIGHBOUR])
    assert_allowed(new, "GetItem", _reading(stack, TENANT))
    assert assert_denied(stack.boto_client(NEIGHBOUR), "GetItem", _reading(stack, NEIGHBOUR))["explicit"]


def test_a_session_that_was_derived_from_the_gates_key_offline_is_denied_too(stack: ServiceStack) -> None:
    """Derives the session as commands do, from an account in which nobody is suspended."""
    key, account = new_gate_key(), Account.from_definitions(ROLES, Deployment(table=stack.settings.table))
    offline = SessionIssuer(account, key)
    with Gate.start(engine_url=stack.engine_url, account=account, key=key) as gate:
        elsewhere = replace(stack, gate=gate)
        client = elsewhere.boto_client_with(gate_access.tenant_session(offline, TENANT, writes=True).credentials)
        assert_allowed(client, "GetItem", _reading(stack, TENANT))
        TenantSuspension.connect(
            gate_access.role_session(offline, "suspender").credentials, "keyfence-", endpoint_url=gate.url
        ).deny([TENANT])
        assert assert_denied(client, "GetItem", _reading(stack, TENANT))["explicit"]
        new = elsewhere.boto_client_with(gate_access.tenant_session(offline, TENANT, writes=False).credentials)
        assert assert_denied(new, "GetItem", _reading(stack, TENANT))["explicit"]


async def test_the_service_denies_requests_while_it_still_has_a_cached_session(
    stack: ServiceStack, shut: PublishSuspensions
) -> None:
    tenant, neighbour = await stack.new_tenant(), await stack.new_tenant()
    viewer = "{ users { edges { node { id } } } }"
    await stack.api_client(tenant).data(viewer)
    held = await stack.vending.credentials(tenant_session(tenant, writes=False))
    await shut([tenant])
    assert await stack.api_client(tenant).error_code(viewer) == "FORBIDDEN"
    assert assert_denied(stack.boto_client_with(held), "GetItem", _reading(stack, tenant))["explicit"]
    await stack.api_client(neighbour).data(viewer)
    await shut([])
    await stack.api_client(tenant).data(viewer)


async def test_the_migrator_can_move_a_suspended_tenants_items_and_not_a_neighbours(
    stack: ServiceStack, shut: PublishSuspensions
) -> None:
    mover = _migrating(stack, TENANT)
    await shut([TENANT])
    for call in CALLS:
        assert_allowed(mover, call.operation, call.parameters(stack.tables.name, OWN))
        assert assert_denied(mover, call.operation, call.parameters(stack.tables.name, NEXT_DOOR))
    for index in (None, "GSI1", "GSI2", "GSI3"):
        named = {"IndexName": index} if index else {}
        assert_allowed(stack.role_boto_client("migrator"), "Scan", {"TableName": stack.tables.name, **named})
        assert assert_denied(mover, "Scan", {"TableName": stack.tables.name, **named})["explicit"]


@pytest.mark.parametrize("role", TENANT_ROLES)
def test_an_inline_policy_that_allows_everything_gives_a_tenant_role_nothing_more(
    stack: ServiceStack, role: str
) -> None:
    """The permissions boundary limits the role: an inline policy cannot allow more."""
    iam = boto_of(stack, "iam", gate_access.role_session(stack.gate.sessions, "suspender").credentials)
    name, table = f"keyfence-{role}", stack.tables.name
    client = stack.boto_client(TENANT, read_only=role == "tenant-read")
    iam.put_role_policy(RoleName=name, PolicyName="generous", PolicyDocument=json.dumps(EVERYTHING))
    try:
        for call in CALLS:
            for place, fence in PARTITIONS.items():
                _as_promised(client, Caller(role, TENANT), call, place, call.parameters(table, fence))
        for operation, parameters in unfenced(table).items():
            with pytest.raises(ClientError, match="AccessDeniedException"):
                getattr(client, operation)(**parameters)
    finally:
        iam.delete_role_policy(RoleName=name, PolicyName="generous")


def _as_promised(client: "DynamoDBClient", caller: Caller, call: Call, place: str, parameters: Any) -> None:
    if caller.may(call, place):
        assert_allowed(client, call.operation, parameters)
        return
    with pytest.raises(ClientError, match="AccessDeniedException"):
        assert_allowed(client, call.operation, parameters)


def test_the_suspender_can_assume_no_role(stack: ServiceStack) -> None:
    sts = boto_of(stack, "sts", gate_access.role_session(stack.gate.sessions, "suspender").credentials)
    for role in stack.gate.account.roles.values():
        for tags in ([], [{"Key": "tenant", "Value": TENANT}]):
            with pytest.raises(ClientError, match="AccessDenied"):
                sts.assume_role(RoleArn=role.arn, RoleSessionName="tester", Tags=tags)
