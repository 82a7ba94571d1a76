"""boto3 clients use their own partitions through the gate as at the engine. Other calls are denied."""

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
"""Without the separator after the id, the key prefix of the first tenant would match keys of the second."""

COMPARED_HEADERS = ("content-type", "content-length")
"""The headers that are equal in two responses with the same item. A checksum differs with the order of attributes."""

Calls = dict[str, Callable[["DynamoDBClient", str, str], Any]]


def key(tenant: TenantId, name: str = "THING", sort: str = "S") -> dict[str, Any]:
    return {"PK": {"S": f"TENANT#{tenant}#{name}"}, "SK": {"S": sort}}


def key_in(partition: str) -> dict[str, Any]:
    return {"PK": {"S": partition}, "SK": {"S": "S"}}


CALLS: Calls = {
    "GetItem": lambda client, table, pk: client.get_item(TableName=table, Key=key_in(pk)),
    "PutItem": lambda client, table, pk: client.put_item(TableName=table, Item=key_in(pk)),
    "UpdateItem": lambda client, table, pk: client.update_item(
        TableName=table,
        Key=key_in(pk),
        UpdateExpression="SET #n = :n",
        ExpressionAttributeNames={"#n": "name"},
        ExpressionAttributeValues={":n": {"S": "x"}},
    ),
    "DeleteItem": lambda client, table, pk: client.delete_item(TableName=table, Key=key_in(pk)),
    "Query": lambda client, table, pk: client.query(
        TableName=table,
        KeyConditionExpression="#p = :p AND begins_with(SK, :s)",
        ExpressionAttributeNames={"#p": "PK"},
        ExpressionAttributeValues={":p": {"S": pk}, ":s": {"S": "S"}},
    ),
    "Query by an index": lambda client, table, pk: client.query(
        TableName=table,
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :p",
        ExpressionAttributeValues={":p": {"S": pk}},
    ),
    "Query with KeyConditions": lambda client, table, pk: client.query(
        TableName=table,
        KeyConditions={"PK": {"AttributeValueList": [{"S": pk}], "ComparisonOperator": "EQ"}},
    ),
    "BatchGetItem": lambda client, table, pk: client.batch_get_item(RequestItems={table: {"Keys": [key_in(pk)]}}),
    "BatchWriteItem": lambda client, table, pk: client.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": key_in(pk)}}]}
    ),
    "TransactGetItems": lambda client, table, pk: client.transact_get_items(
        TransactItems=[{"Get": {"TableName": table, "Key": key_in(pk)}}]
    ),
    "TransactWriteItems": lambda client, table, pk: client.transact_write_items(
        TransactItems=[{"Put": {"TableName": table, "Item": key_in(pk)}}]
    ),
}


@pytest.fixture
def a1(stack: ServiceStack) -> "DynamoDBClient":
    return stack.boto_client(A1)


@pytest.fixture
def table(stack: ServiceStack) -> str:
    return stack.settings.table


def denial_message(call: Callable[[], Any]) -> str:
    """Returns the message of the AccessDeniedException. Any other outcome fails the test."""
    with pytest.raises(ClientError) as error:
        call()
    answer = error.value.response
    assert answer["Error"]["Code"] == "AccessDeniedException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    return answer["Error"]["Message"]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_an_own_partition_is_allowed_and_on_a_foreign_partition_denied(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, name: str
) -> None:
    assert CALLS[name](a1, table, f"TENANT#{A1}#{name}")["ResponseMetadata"]["HTTPStatusCode"] == 200
    action = {"TransactGetItems": "GetItem", "TransactWriteItems": "PutItem"}.get(name, name.partition(" ")[0])
    index = "/index/GSI1" if "index" in name else ""
    assert denial_message(lambda: CALLS[name](a1, table, f"TENANT#{A10}#{name}")) == (
        f"User: arn:aws:sts::000000000000:assumed-role/keyfence-tenant-write/local is not authorized to perform: "
        f"dynamodb:{action} on resource: arn:aws:dynamodb:us-east-1:000000000000:table/{table}{index} "
        f"because no identity-based policy allows the dynamodb:{action} action"
    )
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=key_in(f"TENANT#{A10}#{name}"))


@pytest.mark.parametrize("name", CALLS)
def test_the_arn_of_the_table_works_as_its_name_does(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, name: str
) -> None:
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    by_name, by_arn = (CALLS[name](a1, named, f"TENANT#{A1}#{name}") for named in (table, arn))
    for answer in (by_name, by_arn):
        del answer["ResponseMetadata"]
        answer.pop("ConsumedCapacity", None)  # moto returns it without being asked
    assert by_arn == {member: _by_arn(value, table, arn) for member, value in by_name.items()}
    denial_message(lambda: CALLS[name](a1, arn, f"TENANT#{A10}#{name}"))


def _by_arn(value: Any, table: str, arn: str) -> Any:
    """Returns a member of a response with the ARN as the key of a map in place of the name of the table."""
    return {arn: value[table]} if isinstance(value, dict) and table in value else value


@pytest.mark.parametrize("owner", ["us-east-1:999999999999", "eu-west-1:000000000000"])
@pytest.mark.parametrize("name", CALLS)
def test_a_table_of_another_account_or_region_is_denied_and_not_retried(
    a1: "DynamoDBClient", table: str, name: str, owner: str
) -> None:
    message = denial_message(lambda: CALLS[name](a1, f"arn:aws:dynamodb:{owner}:table/{table}", f"TENANT#{A1}#{name}"))
    assert f"on resource: arn:aws:dynamodb:{owner}:table/{table}" in message


@pytest.mark.parametrize("name", CALLS)
def test_a_read_only_session_may_read_and_not_write(stack: ServiceStack, table: str, name: str) -> None:
    reader, partition = stack.boto_client(A1, read_only=True), f"TENANT#{A1}#READ#{name}"
    if "Get" in name or "Query" in name:
        assert CALLS[name](reader, table, partition)["ResponseMetadata"]["HTTPStatusCode"] == 200
    else:
        denial_message(lambda: CALLS[name](reader, table, partition))
        assert "Item" not in stack.engine_client().get_item(TableName=table, Key=key_in(partition))


def test_a_batch_with_one_foreign_item_writes_nothing(stack: ServiceStack, a1: "DynamoDBClient", table: str) -> None:
    keys = [key(A1, "BATCH", str(number)) for number in range(5)]
    requests: Any = [{"PutRequest": {"Item": item}} for item in (*keys, key(A10, "BATCH"))]
    denial_message(lambda: a1.batch_write_item(RequestItems={table: requests}))
    assert not any("Item" in stack.engine_client().get_item(TableName=table, Key=item_key) for item_key in keys)


@pytest.mark.parametrize("operation", ["Put", "Update", "Delete", "ConditionCheck"])
def test_a_transaction_with_one_foreign_item_writes_nothing(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, operation: str
) -> None:
    own_key, foreign_key = key(A1, "TX"), key(A10, "TX")
    foreign: dict[str, Any] = {
        "Put": {"Item": foreign_key},
        "Update": {
            "Key": foreign_key,
            "UpdateExpression": "SET x = :x",
            "ExpressionAttributeValues": {":x": {"S": "x"}},
        },
        "Delete": {"Key": foreign_key},
        "ConditionCheck": {"Key": foreign_key, "ConditionExpression": "attribute_not_exists(PK)"},
    }
    items: Any = [
        {"Put": {"TableName": table, "Item": own_key}},
        {operation: {"TableName": table, **foreign[operation]}},
    ]
    message = denial_message(lambda: a1.transact_write_items(TransactItems=items))
    assert f"dynamodb:{operation}Item" in message
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=own_key)


def test_a_batch_of_reads_with_one_foreign_key_is_denied(a1: "DynamoDBClient", table: str) -> None:
    denial_message(lambda: a1.batch_get_item(RequestItems={table: {"Keys": [key(A1), key(A10)]}}))


@pytest.mark.parametrize(
    "call",
    [
        lambda client, table: client.scan(TableName=table),
        lambda client, table: client.scan(TableName=table, IndexName="GSI1"),
        lambda client, table: client.execute_statement(Statement=f'SELECT * FROM "{table}"'),
        lambda client, table: client.execute_statement(
            Statement=f"SELECT * FROM \"{table}\" WHERE PK = 'TENANT#a1#THING'"
        ),
        lambda client, table: client.describe_table(TableName=table),
        lambda client, table: client.delete_table(TableName=table),
        lambda client, table: client.list_tables(),
        lambda client, table: client.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"}
        ),
        lambda client, table: client.list_global_tables(),
    ],
    ids=["Scan", "Scan index", "PartiQL scan", "PartiQL own", "Describe", "Delete", "List", "TTL", "unknown"],
)
def test_a_call_without_leading_keys_is_denied(
    a1: "DynamoDBClient", table: str, call: Callable[["DynamoDBClient", str], Any]
) -> None:
    denial_message(lambda: call(a1, table))


def test_all_pages_of_a_query_can_be_read(a1: "DynamoDBClient", table: str) -> None:
    for number in range(25):
        a1.put_item(TableName=table, Item=key(A1, "PAGES", f"{number:02}"))
    pages = a1.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="PK = :p",
        ExpressionAttributeValues={":p": {"S": f"TENANT#{A1}#PAGES"}},
        PaginationConfig={"PageSize": 10},
    )
    assert [item["SK"]["S"] for page in pages for item in page["Items"]] == [f"{number:02}" for number in range(25)]


def test_a_failed_condition_returns_the_error_of_the_engine(a1: "DynamoDBClient", table: str) -> None:
    a1.put_item(TableName=table, Item=key(A1, "ONCE"))
    put: Any = {"TableName": table, "Item": key(A1, "ONCE"), "ConditionExpression": "attribute_not_exists(PK)"}
    with pytest.raises(a1.exceptions.ConditionalCheckFailedException):
        a1.put_item(**put)
    with pytest.raises(a1.exceptions.TransactionCanceledException) as cancelled:
        a1.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": key(A1, "TWO")}}, {"Put": put}])
    reasons: Any = cancelled.value.response
    assert [reason["Code"] for reason in reasons["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]


def test_a_response_through_the_gate_equals_the_response_of_the_engine(
    stack: ServiceStack, a1: "DynamoDBClient", table: str
) -> None:
    """Reads a large item with all types of attributes. boto3 verifies the checksum of the response."""
    item: Any = {
        **key(A1, "LARGE"),
        "text": {"S": 'ä\u2028\U0001f600"\\\x7f' * 1000},
        "binary": {"B": bytes(range(256)) * 100},
        "deep": {"M": {"list": {"L": [{"N": "1.50"}, {"BOOL": True}, {"NULL": True}, {"SS": ["a", "b"]}]}}},
    }
    a1.put_item(TableName=table, Item=item)
    direct = stack.engine_client().get_item(TableName=table, Key=key(A1, "LARGE"))
    through_gate = a1.get_item(TableName=table, Key=key(A1, "LARGE"))
    assert through_gate["Item"] == direct["Item"]
    headers = [answer["ResponseMetadata"]["HTTPHeaders"] for answer in (direct, through_gate)]
    assert headers[0].keys() - {"connection"} == headers[1].keys()
    assert [headers[0][name] for name in COMPARED_HEADERS] == [headers[1][name] for name in COMPARED_HEADERS]


def test_each_of_a_hundred_simultaneous_calls_gets_its_own_item(stack: ServiceStack, table: str) -> None:
    clients = {tenant: stack.boto_client(tenant) for tenant in (A1, A10)}

    def round_trip(number: int) -> bool:
        tenant = (A1, A10)[number % 2]
        item = {**key(tenant, "MANY", str(number)), "number": {"N": str(number)}}
        clients[tenant].put_item(TableName=table, Item=item)
        return clients[tenant].get_item(TableName=table, Key=key(tenant, "MANY", str(number)))["Item"] == item

    with ThreadPoolExecutor(50) as pool:
        assert all(pool.map(round_trip, range(100)))


def test_credentials_that_the_gate_did_not_issue_are_rejected(stack: ServiceStack, table: str) -> None:
    valid = stack.gate.session_issuer.issue_service_session("service-base").credentials
    for invalid, code in (
        (Credentials("AKIALOCAL00000000000", "local"), "UnrecognizedClientException"),
        (Credentials(valid.access_key, "x" * 40, valid.token), "InvalidSignatureException"),
        (Credentials(valid.access_key, valid.secret_key), "UnrecognizedClientException"),
    ):
        with pytest.raises(ClientError) as error:
            stack.boto_client_with(invalid).get_item(TableName=table, Key=key(A1))
        assert error.value.response["Error"]["Code"] == code


@pytest.mark.parametrize("name", CALLS)
def test_the_service_base_role_may_not_access_items(stack: ServiceStack, table: str, name: str) -> None:
    denial_message(lambda: CALLS[name](stack.role_boto_client("service-base"), table, f"TENANT#{A1}#THING"))
