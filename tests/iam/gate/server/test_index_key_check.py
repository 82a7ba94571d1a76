"""With the index key check, the gate denies a write of an index key without the session's key prefix. AWS does not."""

import json
from typing import Any

import pytest

from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.gate.gate import Gate
from keyfence_iam.tenant import session_key_prefix
from tests.iam.gate.server.raw_client import DEPLOYMENT, Caller, Reply, admin_caller, gate_with_engine, tenant_caller

OWN_KEY, NEIGHBOUR_KEY = "TENANT#acme#INDEX", "TENANT#acmecorp#INDEX"


def item(index_key: Any) -> dict[str, Any]:
    return {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}, "GSI1PK": index_key}


def put(index_key: Any) -> dict[str, Any]:
    return {"TableName": "keyfence", "Item": item(index_key)}


def update(expression: str, value: Any) -> dict[str, Any]:
    return {
        "TableName": "keyfence",
        "Key": {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}},
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {"#i": "GSI1PK"},
        "ExpressionAttributeValues": {":v": value},
    }


async def call(caller: Caller, operation: str, parameters: dict[str, Any]) -> Reply:
    return await caller.call(operation, json.dumps(parameters).encode())


def writes(index_key: Any) -> list[tuple[str, dict[str, Any]]]:
    """Returns one call for each operation with which the tenant's role may write an index key."""
    return [
        ("PutItem", put(index_key)),
        ("UpdateItem", update("SET #i = :v", index_key)),
        ("BatchWriteItem", {"RequestItems": {"keyfence": [{"PutRequest": {"Item": item(index_key)}}]}}),
        ("TransactWriteItems", {"TransactItems": [{"Put": put(index_key)}]}),
        ("TransactWriteItems", {"TransactItems": [{"Update": update("SET #i = :v", index_key)}]}),
    ]


@pytest.mark.parametrize("number", range(5))
async def test_a_write_of_a_foreign_index_key_is_denied_and_of_an_own_index_key_allowed(number: int) -> None:
    async with gate_with_engine(index_key_prefix_of=session_key_prefix) as (gate, engine):
        foreign = await call(tenant_caller(gate), *writes({"S": NEIGHBOUR_KEY})[number])
        forwarded = len([head for head, _ in engine.requests if b".DescribeTable" not in head])
        own = await call(tenant_caller(gate), *writes({"S": OWN_KEY})[number])
    assert foreign.error == "AccessDeniedException"
    assert foreign.content["Message"].endswith(
        "(strict gate: the index key attribute GSI1PK is outside the session's key prefix TENANT#acme#)"
    )
    assert forwarded == 0
    assert own.status == 200


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("PutItem", put({"N": "1"})),
        ("PutItem", put({"S": ""})),
        ("PutItem", put({"S": "TENANT#acme"})),
        ("UpdateItem", update("SET #i = if_not_exists(#i, :v)", {"S": OWN_KEY})),
    ],
    ids=["a number", "an empty text", "half the prefix", "a value that may exist"],
)
async def test_an_index_key_that_may_lack_the_prefix_is_denied(operation: str, parameters: dict[str, Any]) -> None:
    async with gate_with_engine(index_key_prefix_of=session_key_prefix) as (gate, _):
        reply = await call(tenant_caller(gate), operation, parameters)
    assert "(strict gate: " in reply.content["Message"]


async def test_an_item_without_index_keys_is_allowed() -> None:
    without_index_key = put({"S": OWN_KEY})
    del without_index_key["Item"]["GSI1PK"]
    async with gate_with_engine(index_key_prefix_of=session_key_prefix) as (gate, _):
        assert (await call(tenant_caller(gate), "PutItem", without_index_key)).status == 200
        assert (
            await call(tenant_caller(gate), "UpdateItem", update("REMOVE #i SET other = :v", {"S": "x"}))
        ).status == 200


@pytest.mark.parametrize(
    ("index", "status"), [("CONTROL#TENANTS", 200), (NEIGHBOUR_KEY, 400), ("CONTROL", 400), ("control#TENANTS", 400)]
)
async def test_a_session_without_a_tenant_has_the_prefix_of_the_control_plane(index: str, status: int) -> None:
    control_item = {"PK": {"S": "CONTROL#TENANT#acme"}, "SK": {"S": "B"}, "GSI1PK": {"S": index}}
    for start_caller in (admin_caller, control_plane_caller):
        async with gate_with_engine(index_key_prefix_of=session_key_prefix) as (gate, _):
            reply = await call(start_caller(gate), "PutItem", {"TableName": "keyfence", "Item": control_item})
        assert reply.status == status
        assert status == 200 or reply.content["Message"].endswith("is outside the session's key prefix CONTROL#)")


def control_plane_caller(gate: Gate) -> Caller:
    request = AssumeRoleRequest(role_arn=DEPLOYMENT.role_arn("control-plane"), session_name="control-plane")
    return Caller(
        gate,
        assume_role(
            request, gate.session_issuer.issue_service_session("service-base").session, gate.session_issuer
        ).credentials,
    )


async def test_without_the_check_the_gate_allows_what_aws_allows() -> None:
    async with gate_with_engine() as (gate, _):
        assert (await call(tenant_caller(gate), "PutItem", put({"S": NEIGHBOUR_KEY}))).status == 200
        gate.index_key_prefix_of = session_key_prefix
        assert (await call(tenant_caller(gate), "PutItem", put({"S": NEIGHBOUR_KEY}))).status == 400
        (denial,) = gate.denials
    assert denial.decision is None
    assert denial.reason.startswith("the index key attribute GSI1PK")


async def test_a_caller_that_may_not_write_gets_the_message_of_aws() -> None:
    async with gate_with_engine(index_key_prefix_of=session_key_prefix) as (gate, _):
        reply = await call(tenant_caller(gate, role="tenant-read"), "PutItem", put({"S": NEIGHBOUR_KEY}))
    assert reply.error == "AccessDeniedException"
    assert "strict" not in reply.content["Message"]
