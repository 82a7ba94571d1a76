"""With the index key check the gate denies index keys outside the session's key prefix, which AWS does not check."""

import json
from typing import Any

import pytest

from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.gate.gate import Gate
from keyfence_iam.tenant import session_key_prefix
from tests.iam.gate.server.raw_client import DEPLOYMENT, Caller, Reply, gate_before, tenant, unfenced

OWN, NEIGHBOUR = "TENANT#acme#INDEX", "TENANT#acmecorp#INDEX"


def item(index: Any) -> dict[str, Any]:
    return {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}, "GSI1PK": index}


def put(index: Any) -> dict[str, Any]:
    return {"TableName": "keyfence", "Item": item(index)}


def update(expression: str, index: Any) -> dict[str, Any]:
    return {
        "TableName": "keyfence",
        "Key": {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}},
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {"#i": "GSI1PK"},
        "ExpressionAttributeValues": {":v": index},
    }


async def call(caller: Caller, operation: str, parameters: dict[str, Any]) -> Reply:
    return await caller.call(operation, json.dumps(parameters).encode())


def writes(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """Returns one call for each way in which the tenant's role may write an index key."""
    return [
        ("PutItem", put(value)),
        ("UpdateItem", update("SET #i = :v", value)),
        ("BatchWriteItem", {"RequestItems": {"keyfence": [{"PutRequest": {"Item": item(value)}}]}}),
        ("TransactWriteItems", {"TransactItems": [{"Put": put(value)}]}),
        ("TransactWriteItems", {"TransactItems": [{"Update": update("SET #i = :v", value)}]}),
    ]


@pytest.mark.parametrize("number", range(5))
async def test_every_write_of_a_foreign_index_key_is_denied_and_of_an_own_one_allowed(number: int) -> None:
    async with gate_before(index_key_prefix=session_key_prefix) as (gate, engine):
        foreign = await call(tenant(gate), *writes({"S": NEIGHBOUR})[number])
        before = len([head for head, _ in engine.requests if b".DescribeTable" not in head])
        own = await call(tenant(gate), *writes({"S": OWN})[number])
    assert foreign.error == "AccessDeniedException"
    assert foreign.content["Message"].endswith(
        "(strict gate: the index key attribute GSI1PK is outside the session's key prefix TENANT#acme#)"
    )
    assert before == 0
    assert own.status == 200


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("PutItem", put({"N": "1"})),
        ("PutItem", put({"S": ""})),
        ("PutItem", put({"S": "TENANT#acme"})),
        ("UpdateItem", update("SET #i = if_not_exists(#i, :v)", {"S": OWN})),
    ],
    ids=["a number", "nothing", "half the boundary", "what is there already"],
)
async def test_an_index_key_that_may_be_outside_is_denied(operation: str, parameters: dict[str, Any]) -> None:
    async with gate_before(index_key_prefix=session_key_prefix) as (gate, _):
        reply = await call(tenant(gate), operation, parameters)
    assert "(strict gate: " in reply.content["Message"]


async def test_an_item_without_index_keys_is_allowed() -> None:
    plain = put({"S": OWN})
    del plain["Item"]["GSI1PK"]
    async with gate_before(index_key_prefix=session_key_prefix) as (gate, _):
        assert (await call(tenant(gate), "PutItem", plain)).status == 200
        assert (await call(tenant(gate), "UpdateItem", update("REMOVE #i SET other = :v", {"S": "x"}))).status == 200


@pytest.mark.parametrize(
    ("index", "status"), [("CONTROL#TENANTS", 200), (NEIGHBOUR, 400), ("CONTROL", 400), ("control#TENANTS", 400)]
)
async def test_a_session_without_a_tenant_has_the_prefix_of_the_control_plane(index: str, status: int) -> None:
    own = {"PK": {"S": "CONTROL#TENANT#acme"}, "SK": {"S": "B"}, "GSI1PK": {"S": index}}
    for begin in (unfenced, control_plane):
        async with gate_before(index_key_prefix=session_key_prefix) as (gate, _):
            reply = await call(begin(gate), "PutItem", {"TableName": "keyfence", "Item": own})
        assert reply.status == status
        assert status == 200 or reply.content["Message"].endswith("is outside the session's key prefix CONTROL#)")


def control_plane(gate: Gate) -> Caller:
    request = AssumeRoleRequest(role_arn=DEPLOYMENT.role_arn("control-plane"), session_name="register")
    return Caller(
        gate,
        assume_role(request, gate.sessions.issue_service_session("service-base").session, gate.sessions).credentials,
    )


async def test_without_the_check_the_gate_allows_what_aws_allows() -> None:
    async with gate_before() as (gate, _):
        assert (await call(tenant(gate), "PutItem", put({"S": NEIGHBOUR}))).status == 200
        gate.index_key_prefix = session_key_prefix
        assert (await call(tenant(gate), "PutItem", put({"S": NEIGHBOUR}))).status == 400
        (denial,) = gate.denials
    assert denial.decision is None
    assert denial.reason.startswith("the index key attribute GSI1PK")


async def test_a_caller_that_may_not_write_gets_the_message_of_aws() -> None:
    async with gate_before(index_key_prefix=session_key_prefix) as (gate, _):
        reply = await call(tenant(gate, role="tenant-read"), "PutItem", put({"S": NEIGHBOUR}))
    assert reply.error == "AccessDeniedException"
    assert "strict" not in reply.content["Message"]
