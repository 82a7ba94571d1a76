"""UnknownTable names the tables, and has all requests without their leading keys."""

from typing import Any

import pytest

from keyfence_iam.authorization import TableSchema, UnknownTable, UnsupportedRequest, authorizations_for, tables_needed
from tests.iam.authorization.sample_table import KEY, SCHEMAS, SCOPE, TABLE_ARN, leading_keys, string_value

FOREIGN = "arn:aws:dynamodb:eu-west-1:999999999999:table/keyfence"


def unknown_table(operation: str, **parameters: Any) -> UnknownTable:
    with pytest.raises(UnknownTable) as raised:
        authorizations_for(operation, parameters, SCOPE, SCHEMAS)
    return raised.value


def test_the_request_lacks_only_its_leading_keys() -> None:
    error = unknown_table("GetItem", TableName="missing", Key=KEY)
    (request,) = error.requests
    assert error.tables == {"missing"}
    assert (request.action, request.resource) == ("dynamodb:GetItem", TABLE_ARN.replace("keyfence", "missing"))
    assert leading_keys(request) is None


def test_the_known_tables_of_a_batch_keep_their_leading_keys() -> None:
    error = unknown_table("BatchGetItem", RequestItems={"keyfence": {"Keys": [KEY]}, "missing": {"Keys": [KEY]}})
    assert [leading_keys(request) for request in error.requests] == [(KEY["PK"]["S"],), None]


def test_a_table_of_another_account_keeps_its_arn_and_is_unknown() -> None:
    error = unknown_table("GetItem", TableName=FOREIGN, Key=KEY)
    assert error.tables == {FOREIGN}
    assert error.requests[0].resource == FOREIGN


QUERY = {
    "TableName": "a-table",
    "KeyConditionExpression": "x = :v",
    "ExpressionAttributeValues": {":v": string_value("x")},
}


@pytest.mark.parametrize(
    ("operation", "parameters", "tables"),
    [
        ("Query", QUERY, {"a-table"}),
        ("GetItem", {"TableName": TABLE_ARN, "Key": KEY}, {"keyfence"}),
        ("BatchWriteItem", {"RequestItems": {"x1": [{"PutRequest": {"Item": KEY}}], "y1": []}}, {"x1", "y1"}),
        ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "x1", "Key": KEY}}]}, {"x1"}),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "x1"."i1"'}, {"x1"}),
        ("Scan", {"TableName": "x1"}, set()),
        ("DescribeTable", {"TableName": "x1"}, set()),
        ("ListTables", {}, set()),
    ],
)
def test_tables_needed_returns_each_table_whose_schema_is_needed(
    operation: str, parameters: dict[str, Any], tables: set[str]
) -> None:
    assert tables_needed(operation, parameters) == tables


def test_tables_needed_raises_for_an_unsupported_call() -> None:
    with pytest.raises(UnsupportedRequest):
        tables_needed("Query", {"TableName": "x1", "Undocumented": True})


def table_description(**changes: Any) -> dict[str, Any]:
    names = ("PK", "SK", "GSI1PK", "number", "a", "b")
    types = [{"AttributeName": name, "AttributeType": "N" if name == "number" else "S"} for name in names]
    indexes = {"GSI1": ["GSI1PK"], "NUMBERS": ["number"], "TOWNS": ["a", "b"]}
    return {
        "AttributeDefinitions": types,
        "KeySchema": [{"AttributeName": "SK", "KeyType": "RANGE"}, {"AttributeName": "PK", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {"IndexName": name, "KeySchema": [{"AttributeName": part, "KeyType": "HASH"} for part in key]}
            for name, key in indexes.items()
        ],
        **changes,
    }


def test_a_schema_is_read_from_a_tables_description() -> None:
    keys = TableSchema.from_description(table_description())
    assert keys.partition_attributes(None) == ("PK",)
    assert keys.partition_attributes("GSI1") == ("GSI1PK",)
    assert keys.partition_attributes("TOWNS") == ("a", "b")
    with pytest.raises(UnsupportedRequest, match="NUMBERS"):
        keys.partition_attributes("NUMBERS")


@pytest.mark.parametrize(
    "changes",
    [
        {"KeySchema": [{"AttributeName": "number", "KeyType": "HASH"}]},
        {"KeySchema": []},
        {"KeySchema": None},
        {"AttributeDefinitions": []},
        {"AttributeDefinitions": [7]},
    ],
    ids=str,
)
def test_a_table_without_one_string_as_its_partition_key_is_unsupported(changes: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        TableSchema.from_description(table_description(**changes))
