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
from tests.stack import World

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
async def shut(world: World) -> AsyncIterator[PublishSuspensions]:
    shut = world.connections.publish_suspensions
    yield shut
    await shut([])


def _reading(world: World, tenant: TenantId) -> dict[str, Any]:
    return {"TableName": world.tables.name, "Key": _key(tenant, "PROFILE")}


def _key(tenant: TenantId, sort: str) -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#1"}, "SK": {"S": sort}}


def _migrating(world: World, tenant: TenantId) -> "DynamoDBClient":
    sessions = world.gate.sessions
    request = AssumeRoleRequest(
        role_arn=world.gate.account.role("tenant-migration").arn, session_name="mover", tags={"tenant": tenant}
    )
    return world.client_of(
        assume_role(request, sessions.issue_service_session("migrator").session, sessions).credentials
    )


def boto_of(world: World, service: Any, credentials: Credentials) -> Any:
    return boto3.Session().client(
        service,
        region_name="us-east-1",
        endpoint_url=world.gate.url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
    )


async def test_live_sessions_are_denied_every_kind_of_call_and_a_neighbours_are_not(
    world: World, shut: PublishSuspensions
) -> None:
    clients = {read_only: world.client(TENANT, read_only=read_only) for read_only in (True, False)}
    neighbour = world.client(NEIGHBOUR)
    await shut([TENANT])
    for call in CALLS:
        for read_only, client in clients.items():
            denial = assert_denied(client, call.operation, call.parameters(world.tables.name, OWN))
            assert denial["role"] == f"keyfence-{TENANT_ROLES[not read_only]}"
            assert denial["explicit"]
        assert_allowed(neighbour, call.operation, call.parameters(world.tables.name, NEXT_DOOR))


async def test_the_next_page_of_a_list_that_is_being_read_is_denied(world: World, shut: PublishSuspensions) -> None:
    engine, client = world.engine_client(), world.client(TENANT, read_only=True)
    for number in range(4):
        engine.put_item(TableName=world.tables.name, Item=_key(TENANT, f"NOTE#{number}"))
    pages = _pages(world, client)
    assert [item["SK"]["S"] for item in next(pages) + next(pages)] == ["NOTE#0", "NOTE#1"]
    await shut([TENANT])
    with pytest.raises(ClientError, match="AccessDeniedException"):
        next(pages)
    await shut([])
    assert [item["SK"]["S"] for page in _pages(world, client) for item in page] == [f"NOTE#{n}" for n in range(4)]


def _pages(world: World, client: "DynamoDBClient") -> Iterator[list[Any]]:
    start: dict[str, Any] = {}
    while True:
        answer = client.query(
            TableName=world.tables.name,
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
    world: World, shut: PublishSuspensions
) -> None:
    await shut([TENANT])
    new = world.client(TENANT)
    assert assert_denied(new, "GetItem", _reading(world, TENANT))["explicit"]
    await shut([NEIGHBOUR])
    assert_allowed(new, "GetItem", _reading(world, TENANT))
    assert assert_denied(world.client(NEIGHBOUR), "GetItem", _reading(world, NEIGHBOUR))["explicit"]


def test_a_session_that_was_derived_from_the_gates_key_offline_is_denied_too(world: World) -> None:
    """Derives the session as commands do, from an account in which nobody is suspended."""
    key, account = new_gate_key(), Account.from_definitions(ROLES, Deployment(table=world.settings.table))
    offline = SessionIssuer(account, key)
    with Gate.start(engine_url=world.engine_url, account=account, key=key) as gate:
        elsewhere = replace(world, gate=gate)
        client = elsewhere.client_of(gate_access.tenant_session(offline, TENANT, writes=True).credentials)
        assert_allowed(client, "GetItem", _reading(world, TENANT))
        TenantSuspension.connect(
            gate_access.role_session(offline, "suspender").credentials, "keyfence-", endpoint_url=gate.url
        ).deny([TENANT])
        assert assert_denied(client, "GetItem", _reading(world, TENANT))["explicit"]
        new = elsewhere.client_of(gate_access.tenant_session(offline, TENANT, writes=False).credentials)
        assert assert_denied(new, "GetItem", _reading(world, TENANT))["explicit"]


async def test_the_service_denies_requests_while_it_still_has_a_cached_session(
    world: World, shut: PublishSuspensions
) -> None:
    tenant, neighbour = await world.new_tenant(), await world.new_tenant()
    viewer = "{ users { edges { node { id } } } }"
    await world.session(tenant).ask(viewer)
    held = await world.vending.credentials(tenant_session(tenant, writes=False))
    await shut([tenant])
    assert await world.session(tenant).refusal(viewer) == "FORBIDDEN"
    assert assert_denied(world.client_of(held), "GetItem", _reading(world, tenant))["explicit"]
    await world.session(neighbour).ask(viewer)
    await shut([])
    await world.session(tenant).ask(viewer)


async def test_the_migrator_can_move_a_suspended_tenants_items_and_not_a_neighbours(
    world: World, shut: PublishSuspensions
) -> None:
    mover = _migrating(world, TENANT)
    await shut([TENANT])
    for call in CALLS:
        assert_allowed(mover, call.operation, call.parameters(world.tables.name, OWN))
        assert assert_denied(mover, call.operation, call.parameters(world.tables.name, NEXT_DOOR))
    for index in (None, "GSI1", "GSI2", "GSI3"):
        named = {"IndexName": index} if index else {}
        assert_allowed(world.role_client("migrator"), "Scan", {"TableName": world.tables.name, **named})
        assert assert_denied(mover, "Scan", {"TableName": world.tables.name, **named})["explicit"]


@pytest.mark.parametrize("role", TENANT_ROLES)
def test_an_inline_policy_that_allows_everything_gives_a_tenant_role_nothing_more(world: World, role: str) -> None:
    """The permissions boundary limits the role: an inline policy cannot allow more."""
    iam = boto_of(world, "iam", gate_access.role_session(world.gate.sessions, "suspender").credentials)
    name, table = f"keyfence-{role}", world.tables.name
    client = world.client(TENANT, read_only=role == "tenant-read")
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


def test_the_suspender_can_assume_no_role(world: World) -> None:
    sts = boto_of(world, "sts", gate_access.role_session(world.gate.sessions, "suspender").credentials)
    for role in world.gate.account.roles.values():
        for tags in ([], [{"Key": "tenant", "Value": TENANT}]):
            with pytest.raises(ClientError, match="AccessDenied"):
                sts.assume_role(RoleArn=role.arn, RoleSessionName="tester", Tags=tags)
