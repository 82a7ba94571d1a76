"""Checks on a real AWS account that AWS behaves as the gate does. Run them for a new account or region."""

from contextlib import suppress
from time import sleep
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence_iam.tenant import TenantId, tenant_key_prefix
from tests.aws.conftest import Aws
from tests.isolation.catalogue_calls import Call, one_call_of_each_kind
from tests.isolation.denials import assert_allowed, assert_denied
from tests.isolation.partitions import NEIGHBOUR, PARTITIONS, TENANT, Caller

CALLERS = (Caller("tenant-read", TENANT), Caller("tenant-write", TENANT), Caller("control-plane"))
BAD_TAGS: dict[str, list[dict[str, str]]] = {
    "no tag": [],
    "an empty tag": [{"Key": "tenant", "Value": ""}],
    "a tag in capitals": [{"Key": "Tenant", "Value": TENANT}],
    "a second tag": [{"Key": "tenant", "Value": TENANT}, {"Key": "colour", "Value": "red"}],
}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
@pytest.mark.parametrize("call", tuple(one_call_of_each_kind()), ids=str)
def test_a_session_reaches_what_the_design_promises_and_nothing_more(aws: Aws, caller: Caller, call: Call) -> None:
    """Checks the leading keys of every call, also of index queries, and the message and status of each denial."""
    for partition, fence in PARTITIONS.items():
        parameters = call.parameters(aws.table, fence)
        if caller.may(call, partition):
            assert_allowed(aws.client(caller), call.operation, parameters)
        else:
            assert assert_denied(aws.client(caller), call.operation, parameters)["explicit"] is None


def test_one_foreign_key_denies_a_batch_and_a_transaction_as_a_whole(aws: Aws) -> None:
    client = aws.client(Caller("tenant-write", TENANT))
    own, foreign = (_key(tenant, "BATCH") for tenant in (TENANT, NEIGHBOUR))
    puts = [{"PutRequest": {"Item": key}} for key in (own, foreign)]
    assert_denied(client, "BatchWriteItem", {"RequestItems": {aws.table: puts}})
    members = [{"Put": {"TableName": aws.table, "Item": key}} for key in (own, foreign)]
    assert_denied(client, "TransactWriteItems", {"TransactItems": members})
    assert "Item" not in client.get_item(TableName=aws.table, Key=own, ConsistentRead=True)


def test_a_condition_check_on_a_neighbour_does_not_reveal_whether_an_item_exists(aws: Aws) -> None:
    aws.client(Caller("tenant-write", NEIGHBOUR)).put_item(TableName=aws.table, Item=_key(NEIGHBOUR, "EXISTS"))
    texts = {
        assert_denied(
            aws.client(Caller("tenant-write", TENANT)),
            "TransactWriteItems",
            {"TransactItems": [{"ConditionCheck": _condition_check(aws.table, sort)}]},
        ).string
        for sort in ("EXISTS", "MISSING")
    }
    assert len(texts) == 1


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_scans_and_partiql_are_denied_explicitly(aws: Aws, role: str) -> None:
    client = aws.client(Caller(role, TENANT))
    assert assert_denied(client, "Scan", {"TableName": aws.table})["explicit"]
    assert assert_denied(client, "Scan", {"TableName": aws.table, "IndexName": "GSI1"})["explicit"]
    assert assert_denied(client, "ExecuteStatement", {"Statement": f'SELECT * FROM "{aws.table}"'})["explicit"]


@pytest.mark.parametrize("tags", BAD_TAGS)
def test_the_trust_policy_denies_assume_role(aws: Aws, tags: str) -> None:
    request: Any = {
        "RoleArn": f"{aws.role_arn_prefix}tenant-read",
        "RoleSessionName": "aws-tests",
        "Tags": BAD_TAGS[tags],
    }
    with pytest.raises(ClientError) as refusal:
        aws.sts.assume_role(**request)
    assert refusal.value.response["Error"]["Code"] == "AccessDenied"


def test_sts_rejects_a_wildcard_in_a_tag(aws: Aws) -> None:
    role_arn = f"{aws.role_arn_prefix}tenant-read"
    with pytest.raises(ClientError) as refusal:
        aws.sts.assume_role(RoleArn=role_arn, RoleSessionName="aws-tests", Tags=[{"Key": "tenant", "Value": "a*"}])
    assert refusal.value.response["Error"]["Code"] == "ValidationError"


def test_the_service_role_can_read_nothing(aws: Aws) -> None:
    assert_denied(aws.service_client(), "GetItem", {"TableName": aws.table, "Key": _key(TENANT, "PROFILE")})


def test_a_live_session_is_denied_soon_after_its_tenant_is_suspended_and_a_neighbours_is_not(
    aws: Aws,
) -> None:
    """A change of a policy takes effect within seconds. The test waits up to a minute."""
    suspender, get_item = aws.suspender(), {"TableName": aws.table, "Key": _key(TENANT, "PROFILE")}
    client, neighbour = (aws.client(Caller("tenant-read", tenant)) for tenant in (TENANT, NEIGHBOUR))
    assert_allowed(client, "GetItem", get_item)
    denied_before = suspender.denied_tenants()
    suspender.deny({*denied_before, TenantId(TENANT)})
    try:
        for _ in range(60):
            with suppress(pytest.fail.Exception):
                assert assert_denied(client, "GetItem", get_item)["explicit"]
                break
            sleep(1)
        assert assert_denied(client, "GetItem", get_item)["explicit"]
        assert_allowed(neighbour, "GetItem", {**get_item, "Key": _key(NEIGHBOUR, "PROFILE")})
    finally:
        suspender.deny(denied_before)


def _condition_check(table: str, sort: str) -> dict[str, Any]:
    return {
        "TableName": table,
        "Key": _key(NEIGHBOUR, sort),
        "ConditionExpression": "attribute_exists(PK)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _key(tenant: str, sort: str) -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}AWS-TESTS#1"}, "SK": {"S": sort}}
