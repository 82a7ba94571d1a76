"""After a suspension is published, IAM denies every call of the tenant, and no call of another tenant."""

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
OWN_FENCE, NEIGHBOUR_FENCE = PARTITIONS["its own"], PARTITIONS["the neighbour whose id begins with its own"]
TENANT_ROLES = ("tenant-read", "tenant-write")
ALLOW_EVERYTHING = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}


def calls_without_a_key(table: str) -> dict[str, dict[str, Any]]:
    table_name = {"TableName": table}
    statement = {"Statement": f'SELECT * FROM "{table}"'}
    return {
        "scan": table_name,
        "describe_table": table_name,
        "delete_table": table_name,
        "list_tables": {},
        "execute_statement": statement,
    }


@pytest.fixture
async def publish_suspensions(stack: ServiceStack) -> AsyncIterator[PublishSuspensions]:
    publish_suspensions = stack.connections.publish_suspensions
    yield publish_suspensions
    await publish_suspensions([])


def _get_item_parameters(stack: ServiceStack, tenant: TenantId) -> dict[str, Any]:
    return {"TableName": stack.tables.name, "Key": _key(tenant, "PROFILE")}


def _key(tenant: TenantId, sort: str) -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#1"}, "SK": {"S": sort}}


def _migration_client(stack: ServiceStack, tenant: TenantId) -> "DynamoDBClient":
    sessions = stack.gate.session_issuer
    request = AssumeRoleRequest(
        role_arn=stack.gate.account.get_role("tenant-migration").arn,
        session_name="migrator",
        tags={"tenant": tenant},
    )
    return stack.boto_client_with(
        assume_role(request, sessions.issue_service_session("migrator").session, sessions).credentials
    )


def boto_client_for(stack: ServiceStack, service: Any, credentials: Credentials) -> Any:
    return boto3.Session().client(
        service,
        region_name="us-east-1",
        endpoint_url=stack.gate.url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
    )


async def test_live_sessions_are_denied_every_kind_of_call_and_a_neighbours_are_not(
    stack: ServiceStack, publish_suspensions: PublishSuspensions
) -> None:
    clients = {read_only: stack.boto_client(TENANT, read_only=read_only) for read_only in (True, False)}
    neighbour = stack.boto_client(NEIGHBOUR)
    await publish_suspensions([TENANT])
    for call in CALLS:
        for read_only, client in clients.items():
            denial = assert_denied(client, call.operation, call.parameters(stack.tables.name, OWN_FENCE))
            assert denial["role"] == f"keyfence-{TENANT_ROLES[not read_only]}"
            assert denial["explicit"]
        assert_allowed(neighbour, call.operation, call.parameters(stack.tables.name, NEIGHBOUR_FENCE))


async def test_the_next_page_of_a_list_that_is_being_read_is_denied(
    stack: ServiceStack, publish_suspensions: PublishSuspensions
) -> None:
    engine, client = stack.engine_client(), stack.boto_client(TENANT, read_only=True)
    for number in range(4):
        engine.put_item(TableName=stack.tables.name, Item=_key(TENANT, f"NOTE#{number}"))
    pages = _pages(stack, client)
    assert [item["SK"]["S"] for item in next(pages) + next(pages)] == ["NOTE#0", "NOTE#1"]
    await publish_suspensions([TENANT])
    with pytest.raises(ClientError, match="AccessDeniedException"):
        next(pages)
    await publish_suspensions([])
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
    stack: ServiceStack, publish_suspensions: PublishSuspensions
) -> None:
    await publish_suspensions([TENANT])
    new_client = stack.boto_client(TENANT)
    assert assert_denied(new_client, "GetItem", _get_item_parameters(stack, TENANT))["explicit"]
    await publish_suspensions([NEIGHBOUR])
    assert_allowed(new_client, "GetItem", _get_item_parameters(stack, TENANT))
    assert assert_denied(stack.boto_client(NEIGHBOUR), "GetItem", _get_item_parameters(stack, NEIGHBOUR))["explicit"]


def test_a_session_that_was_derived_from_the_gates_key_offline_is_denied_too(stack: ServiceStack) -> None:
    """Derives the session as commands do, from an account in which nobody is suspended."""
    key, account = new_gate_key(), Account.from_definitions(ROLES, Deployment(table=stack.settings.table))
    offline = SessionIssuer(account, key)
    with Gate.start(engine_url=stack.engine_url, account=account, key=key) as gate:
        stack_of_gate = replace(stack, gate=gate)
        client = stack_of_gate.boto_client_with(gate_access.tenant_session(offline, TENANT, may_write=True).credentials)
        assert_allowed(client, "GetItem", _get_item_parameters(stack, TENANT))
        TenantSuspension.connect(
            gate_access.role_session(offline, "suspender").credentials, "keyfence-", endpoint_url=gate.url
        ).deny([TENANT])
        assert assert_denied(client, "GetItem", _get_item_parameters(stack, TENANT))["explicit"]
        new_client = stack_of_gate.boto_client_with(
            gate_access.tenant_session(offline, TENANT, may_write=False).credentials
        )
        assert assert_denied(new_client, "GetItem", _get_item_parameters(stack, TENANT))["explicit"]


async def test_the_service_denies_requests_while_it_still_has_a_cached_session(
    stack: ServiceStack, publish_suspensions: PublishSuspensions
) -> None:
    tenant, neighbour = await stack.new_tenant(), await stack.new_tenant()
    users_query = "{ users { edges { node { id } } } }"
    await stack.api_client(tenant).data(users_query)
    cached_credentials = await stack.session_cache.credentials(tenant_session(tenant, may_write=False))
    await publish_suspensions([tenant])
    assert await stack.api_client(tenant).error_code(users_query) == "FORBIDDEN"
    client = stack.boto_client_with(cached_credentials)
    assert assert_denied(client, "GetItem", _get_item_parameters(stack, tenant))["explicit"]
    await stack.api_client(neighbour).data(users_query)
    await publish_suspensions([])
    await stack.api_client(tenant).data(users_query)


async def test_the_migrator_can_move_a_suspended_tenants_items_and_not_a_neighbours(
    stack: ServiceStack, publish_suspensions: PublishSuspensions
) -> None:
    migrator_client = _migration_client(stack, TENANT)
    await publish_suspensions([TENANT])
    for call in CALLS:
        assert_allowed(migrator_client, call.operation, call.parameters(stack.tables.name, OWN_FENCE))
        assert assert_denied(migrator_client, call.operation, call.parameters(stack.tables.name, NEIGHBOUR_FENCE))
    for index in (None, "GSI1", "GSI2", "GSI3"):
        index_parameters = {"IndexName": index} if index else {}
        assert_allowed(stack.role_boto_client("migrator"), "Scan", {"TableName": stack.tables.name, **index_parameters})
        assert assert_denied(migrator_client, "Scan", {"TableName": stack.tables.name, **index_parameters})["explicit"]


@pytest.mark.parametrize("role", TENANT_ROLES)
def test_an_inline_policy_that_allows_everything_gives_a_tenant_role_nothing_more(
    stack: ServiceStack, role: str
) -> None:
    """The permissions boundary limits the role, so an inline policy cannot allow more."""
    iam = boto_client_for(stack, "iam", gate_access.role_session(stack.gate.session_issuer, "suspender").credentials)
    name, table = f"keyfence-{role}", stack.tables.name
    client = stack.boto_client(TENANT, read_only=role == "tenant-read")
    iam.put_role_policy(RoleName=name, PolicyName="allow-everything", PolicyDocument=json.dumps(ALLOW_EVERYTHING))
    try:
        for call in CALLS:
            for partition, fence in PARTITIONS.items():
                _assert_as_designed(client, Caller(role, TENANT), call, partition, call.parameters(table, fence))
        for operation, parameters in calls_without_a_key(table).items():
            with pytest.raises(ClientError, match="AccessDeniedException"):
                getattr(client, operation)(**parameters)
    finally:
        iam.delete_role_policy(RoleName=name, PolicyName="allow-everything")


def _assert_as_designed(client: "DynamoDBClient", caller: Caller, call: Call, partition: str, parameters: Any) -> None:
    if caller.may(call, partition):
        assert_allowed(client, call.operation, parameters)
        return
    with pytest.raises(ClientError, match="AccessDeniedException"):
        assert_allowed(client, call.operation, parameters)


def test_the_suspender_can_assume_no_role(stack: ServiceStack) -> None:
    sts = boto_client_for(stack, "sts", gate_access.role_session(stack.gate.session_issuer, "suspender").credentials)
    for role in stack.gate.account.roles.values():
        for tags in ([], [{"Key": "tenant", "Value": TENANT}]):
            with pytest.raises(ClientError, match="AccessDenied"):
                sts.assume_role(RoleArn=role.arn, RoleSessionName="tester", Tags=tags)
