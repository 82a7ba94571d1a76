"""Over HTTP, the gate allows a session's boto3 client its own partitions and nothing else, for every kind of call."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from keyfence_iam.tenant import parse_tenant_id, tenant_key_prefix
from tests.isolation.catalogue_calls import Call, calls, one_call_of_each_kind
from tests.isolation.denials import assert_allowed, assert_denied
from tests.isolation.partitions import NEIGHBOUR, PARTITIONS, TENANT, Caller
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CALLERS = (Caller("tenant-read", TENANT), Caller("tenant-write", TENANT), Caller("control-plane"))

Clients = Callable[[Caller], "DynamoDBClient"]


@pytest.fixture(scope="module")
def clients(stack: ServiceStack) -> Clients:
    @cache
    def client(caller: Caller) -> "DynamoDBClient":
        if caller.tenant is None:
            return stack.role_boto_client(caller.role)
        return stack.boto_client(parse_tenant_id(caller.tenant), read_only=caller.role == "tenant-read")

    return client


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_session_reaches_what_the_design_promises_and_nothing_more(
    stack: ServiceStack, clients: Clients, caller: Caller
) -> None:
    mismatches = [
        mismatch for call in one_call_of_each_kind() for mismatch in _mismatches(stack, clients(caller), caller, call)
    ]
    assert mismatches == []


@pytest.mark.full("calls of all entities; the default tier has one call of each kind")
@pytest.mark.one_engine
@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_a_session_reaches_nothing_more_by_any_call_of_the_catalogue(
    stack: ServiceStack, clients: Clients, caller: Caller
) -> None:
    mismatches = [mismatch for call in calls() for mismatch in _mismatches(stack, clients(caller), caller, call)]
    assert mismatches == []


def test_nothing_is_written_by_a_batch_or_transaction_that_is_denied(stack: ServiceStack, clients: Clients) -> None:
    client, table, engine = clients(Caller("tenant-write", TENANT)), stack.tables.name, stack.engine_client()
    before = engine.scan(TableName=table)["Items"]
    own, foreign = ({**_key(tenant), "note": {"S": "planted"}} for tenant in (TENANT, NEIGHBOUR))
    assert_denied(
        client, "BatchWriteItem", {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in (own, foreign)]}}
    )
    members = [{"Put": {"TableName": table, "Item": item}} for item in (own, foreign)]
    assert_denied(client, "TransactWriteItems", {"TransactItems": members})
    assert_denied(client, "TransactWriteItems", {"TransactItems": members[::-1]})
    assert engine.scan(TableName=table)["Items"] == before
    assert_allowed(client, "TransactWriteItems", {"TransactItems": members[:1]})
    assert engine.get_item(TableName=table, Key=_key(TENANT))["Item"] == own


def test_the_reason_of_a_denied_transaction_does_not_show_a_neighbours_item(
    stack: ServiceStack, clients: Clients
) -> None:
    """The call is denied before the item is read: the response is the same whether the item exists or not."""
    client, table = clients(Caller("tenant-write", TENANT)), stack.tables.name
    stack.engine_client().put_item(TableName=table, Item=_key(NEIGHBOUR))
    texts = set()
    for sort in ("PROFILE", "NOWHERE"):
        check = {
            "TableName": table,
            "Key": {**_key(NEIGHBOUR), "SK": {"S": sort}},
            "ConditionExpression": "attribute_exists(PK)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        texts.add(assert_denied(client, "TransactWriteItems", {"TransactItems": [{"ConditionCheck": check}]}).string)
    assert len(texts) == 1


@pytest.mark.parametrize("role", ["tenant-read", "tenant-write"])
def test_scans_and_partiql_are_denied_explicitly(stack: ServiceStack, clients: Clients, role: str) -> None:
    client, table = clients(Caller(role, TENANT)), stack.tables.name
    for operation, parameters in (
        ("Scan", {"TableName": table}),
        ("Scan", {"TableName": table, "IndexName": "GSI1"}),
        ("ExecuteStatement", {"Statement": f'SELECT * FROM "{table}"'}),
    ):
        assert assert_denied(client, operation, parameters)["explicit"]


@pytest.mark.parametrize("role", ["service-base", "stream-worker", "provisioner", "suspender"])
def test_roles_without_a_tenant_reach_no_item_by_any_kind_of_call(stack: ServiceStack, role: str) -> None:
    client = stack.role_boto_client(role)
    for call in one_call_of_each_kind():
        for fence in PARTITIONS.values():
            assert assert_denied(client, call.operation, call.parameters(stack.tables.name, fence))["explicit"]


def _mismatches(stack: ServiceStack, client: "DynamoDBClient", caller: Caller, call: Call) -> Iterator[str]:
    for partition, fence in PARTITIONS.items():
        parameters = call.parameters(stack.tables.name, fence)
        try:
            if caller.may(call, partition):
                assert_allowed(client, call.operation, parameters)
            else:
                denial = assert_denied(client, call.operation, parameters)
                assert (denial["role"], denial["explicit"]) == (f"keyfence-{caller.role}", None)
        except (AssertionError, ClientError, pytest.fail.Exception) as error:
            yield f"{call} on {partition}: {error}"


def _key(tenant: str) -> dict[str, Any]:
    return {"PK": {"S": f"{tenant_key_prefix(tenant)}USER#1"}, "SK": {"S": "PROFILE"}}
