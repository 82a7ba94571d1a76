"""Plain boto3 clients at the gate: their own calls work as at the engine, everybody else's are AccessDenied."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId, parse_tenant_id
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


A1, A10 = parse_tenant_id("a1"), parse_tenant_id("a10")
"""A careless prefix lets the first into the second."""

STABLE = ("content-type", "content-length")
"""Headers that two answers with the same item share; the order of its attributes may differ."""

Calls = dict[str, Callable[["DynamoDBClient", str, str], Any]]


def key(tenant: TenantId, name: str = "THING", sort: str = "S") -> dict[str, Any]:
    return {"PK": {"S": f"TENANT#{tenant}#{name}"}, "SK": {"S": sort}}


def own(partition: str) -> dict[str, Any]:
    return {"PK": {"S": partition}, "SK": {"S": "S"}}


CALLS: Calls = {
    "GetItem": lambda at, table, pk: at.get_item(TableName=table, Key=own(pk)),
    "PutItem": lambda at, table, pk: at.put_item(TableName=table, Item=own(pk)),
    "UpdateItem": lambda at, table, pk: at.update_item(
        TableName=table,
        Key=own(pk),
        UpdateExpression="SET #n = :n",
        ExpressionAttributeNames={"#n": "name"},
        ExpressionAttributeValues={":n": {"S": "x"}},
    ),
    "DeleteItem": lambda at, table, pk: at.delete_item(TableName=table, Key=own(pk)),
    "Query": lambda at, table, pk: at.query(
        TableName=table,
        KeyConditionExpression="#p = :p AND begins_with(SK, :s)",
        ExpressionAttributeNames={"#p": "PK"},
        ExpressionAttributeValues={":p": {"S": pk}, ":s": {"S": "S"}},
    ),
    "Query by an index": lambda at, table, pk: at.query(
        TableName=table,
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :p",
        ExpressionAttributeValues={":p": {"S": pk}},
    ),
    "Query as it was written once": lambda at, table, pk: at.query(
        TableName=table,
        KeyConditions={"PK": {"AttributeValueList": [{"S": pk}], "ComparisonOperator": "EQ"}},
    ),
    "BatchGetItem": lambda at, table, pk: at.batch_get_item(RequestItems={table: {"Keys": [own(pk)]}}),
    "BatchWriteItem": lambda at, table, pk: at.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": own(pk)}}]}
    ),
    "TransactGetItems": lambda at, table, pk: at.transact_get_items(
        TransactItems=[{"Get": {"TableName": table, "Key": own(pk)}}]
    ),
    "TransactWriteItems": lambda at, table, pk: at.transact_write_items(
        TransactItems=[{"Put": {"TableName": table, "Item": own(pk)}}]
    ),
}


@pytest.fixture
def a1(stack: ServiceStack) -> "DynamoDBClient":
    return stack.boto_client(A1)


@pytest.fixture
def table(stack: ServiceStack) -> str:
    return stack.settings.table


def denied(act: Callable[[], Any]) -> str:
    """The text of the AccessDenied; any other error is a failure of the test."""
    with pytest.raises(ClientError) as error:
        act()
    answer = error.value.response
    assert answer["Error"]["Code"] == "AccessDeniedException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    return answer["Error"]["Message"]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_ones_own_partition_works_and_on_the_neighbours_is_denied(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, name: str
) -> None:
    assert CALLS[name](a1, table, f"TENANT#{A1}#{name}")["ResponseMetadata"]["HTTPStatusCode"] == 200
    action = {"TransactGetItems": "GetItem", "TransactWriteItems": "PutItem"}.get(name, name.partition(" ")[0])
    index = "/index/GSI1" if "index" in name else ""
    assert denied(lambda: CALLS[name](a1, table, f"TENANT#{A10}#{name}")) == (
        f"User: arn:aws:sts::000000000000:assumed-role/keyfence-tenant-write/local is not authorized to perform: "
        f"dynamodb:{action} on resource: arn:aws:dynamodb:us-east-1:000000000000:table/{table}{index} "
        f"because no identity-based policy allows the dynamodb:{action} action"
    )
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=own(f"TENANT#{A10}#{name}"))


@pytest.mark.parametrize("name", CALLS)
def test_a_reader_reads_and_does_not_write(stack: ServiceStack, table: str, name: str) -> None:
    reader, partition = stack.boto_client(A1, read_only=True), f"TENANT#{A1}#READ#{name}"
    if "Get" in name or "Query" in name:
        assert CALLS[name](reader, table, partition)["ResponseMetadata"]["HTTPStatusCode"] == 200
    else:
        denied(lambda: CALLS[name](reader, table, partition))
        assert "Item" not in stack.engine_client().get_item(TableName=table, Key=own(partition))


def test_a_batch_with_one_foreign_item_writes_nothing(stack: ServiceStack, a1: "DynamoDBClient", table: str) -> None:
    keys = [key(A1, "BATCH", str(number)) for number in range(5)]
    requests: Any = [{"PutRequest": {"Item": item}} for item in (*keys, key(A10, "BATCH"))]
    denied(lambda: a1.batch_write_item(RequestItems={table: requests}))
    assert not any("Item" in stack.engine_client().get_item(TableName=table, Key=one) for one in keys)


@pytest.mark.parametrize("last", ["Put", "Update", "Delete", "ConditionCheck"])
def test_a_transaction_with_one_foreign_item_writes_nothing(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, last: str
) -> None:
    mine, theirs = key(A1, "TX"), key(A10, "TX")
    foreign: dict[str, Any] = {
        "Put": {"Item": theirs},
        "Update": {"Key": theirs, "UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": {"S": "x"}}},
        "Delete": {"Key": theirs},
        "ConditionCheck": {"Key": theirs, "ConditionExpression": "attribute_not_exists(PK)"},
    }
    items: Any = [{"Put": {"TableName": table, "Item": mine}}, {last: {"TableName": table, **foreign[last]}}]
    said = denied(lambda: a1.transact_write_items(TransactItems=items))
    assert f"dynamodb:{last}Item" in said
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=mine)


def test_a_batch_of_reads_with_one_foreign_key_answers_nothing(a1: "DynamoDBClient", table: str) -> None:
    denied(lambda: a1.batch_get_item(RequestItems={table: {"Keys": [key(A1), key(A10)]}}))


@pytest.mark.parametrize(
    "act",
    [
        lambda at, table: at.scan(TableName=table),
        lambda at, table: at.scan(TableName=table, IndexName="GSI1"),
        lambda at, table: at.execute_statement(Statement=f'SELECT * FROM "{table}"'),
        lambda at, table: at.execute_statement(Statement=f"SELECT * FROM \"{table}\" WHERE PK = 'TENANT#a1#THING'"),
        lambda at, table: at.describe_table(TableName=table),
        lambda at, table: at.delete_table(TableName=table),
        lambda at, table: at.list_tables(),
        lambda at, table: at.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"}
        ),
        lambda at, table: at.list_global_tables(),
    ],
    ids=["Scan", "Scan index", "PartiQL scan", "PartiQL own", "Describe", "Delete", "List", "TTL", "unknown"],
)
def test_what_is_not_about_ones_own_items_is_denied(
    a1: "DynamoDBClient", table: str, act: Callable[["DynamoDBClient", str], Any]
) -> None:
    denied(lambda: act(a1, table))


def test_pages_follow_each_other_to_the_end(a1: "DynamoDBClient", table: str) -> None:
    for number in range(25):
        a1.put_item(TableName=table, Item=key(A1, "PAGES", f"{number:02}"))
    pages = a1.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="PK = :p",
        ExpressionAttributeValues={":p": {"S": f"TENANT#{A1}#PAGES"}},
        PaginationConfig={"PageSize": 10},
    )
    assert [item["SK"]["S"] for page in pages for item in page["Items"]] == [f"{number:02}" for number in range(25)]


def test_a_failed_condition_is_the_engines_own_error(a1: "DynamoDBClient", table: str) -> None:
    a1.put_item(TableName=table, Item=key(A1, "ONCE"))
    put: Any = {"TableName": table, "Item": key(A1, "ONCE"), "ConditionExpression": "attribute_not_exists(PK)"}
    with pytest.raises(a1.exceptions.ConditionalCheckFailedException):
        a1.put_item(**put)
    with pytest.raises(a1.exceptions.TransactionCanceledException) as cancelled:
        a1.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": key(A1, "TWO")}}, {"Put": put}])
    reasons: Any = cancelled.value.response
    assert [reason["Code"] for reason in reasons["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]


def test_the_answer_through_the_gate_is_the_engines(stack: ServiceStack, a1: "DynamoDBClient", table: str) -> None:
    """A large item with everything in it; boto3 holds the bytes against the checksum that came with them."""
    item: Any = {
        **key(A1, "LARGE"),
        "text": {"S": 'ä\u2028\U0001f600"\\\x7f' * 1000},
        "binary": {"B": bytes(range(256)) * 100},
        "deep": {"M": {"list": {"L": [{"N": "1.50"}, {"BOOL": True}, {"NULL": True}, {"SS": ["a", "b"]}]}}},
    }
    a1.put_item(TableName=table, Item=item)
    direct = stack.engine_client().get_item(TableName=table, Key=key(A1, "LARGE"))
    through = a1.get_item(TableName=table, Key=key(A1, "LARGE"))
    assert through["Item"] == direct["Item"]
    heads = [answer["ResponseMetadata"]["HTTPHeaders"] for answer in (direct, through)]
    assert heads[0].keys() - {"connection"} == heads[1].keys()
    assert [heads[0][name] for name in STABLE] == [heads[1][name] for name in STABLE]


def test_a_hundred_calls_at_once_each_get_their_own(stack: ServiceStack, table: str) -> None:
    clients = {tenant: stack.boto_client(tenant) for tenant in (A1, A10)}

    def round_trip(number: int) -> bool:
        tenant = (A1, A10)[number % 2]
        item = {**key(tenant, "MANY", str(number)), "number": {"N": str(number)}}
        clients[tenant].put_item(TableName=table, Item=item)
        return clients[tenant].get_item(TableName=table, Key=key(tenant, "MANY", str(number)))["Item"] == item

    with ThreadPoolExecutor(50) as pool:
        assert all(pool.map(round_trip, range(100)))


def test_credentials_that_are_not_the_gates_are_not_believed(stack: ServiceStack, table: str) -> None:
    good = stack.gate.sessions.issue_service_session("service-base").credentials
    for bad, code in (
        (Credentials("AKIALOCAL00000000000", "local"), "UnrecognizedClientException"),
        (Credentials(good.access_key, "x" * 40, good.token), "InvalidSignatureException"),
        (Credentials(good.access_key, good.secret_key), "UnrecognizedClientException"),
    ):
        with pytest.raises(ClientError) as error:
            stack.boto_client_with(bad).get_item(TableName=table, Key=key(A1))
        assert error.value.response["Error"]["Code"] == code


@pytest.mark.parametrize("name", CALLS)
def test_the_services_own_role_reaches_no_item_at_all(stack: ServiceStack, table: str, name: str) -> None:
    denied(lambda: CALLS[name](stack.role_boto_client("service-base"), table, f"TENANT#{A1}#THING"))
