"""UnknownTable names the tables, and has all requests without their leading keys."""

from typing import Any

import pytest

from keyfence_iam.authorization import TableSchema, UnknownTable, UnsupportedRequest, authorizations_for, tables_needed
from tests.iam.authorization.sample_table import KEY, KEYS, PLACE, TABLE, leading, s

FOREIGN = "arn:aws:dynamodb:eu-west-1:999999999999:table/keyfence"


def unknown(operation: str, **parameters: Any) -> UnknownTable:
    with pytest.raises(UnknownTable) as raised:
        authorizations_for(operation, parameters, PLACE, KEYS)
    return raised.value


def test_the_request_lacks_only_its_leading_keys() -> None:
    found = unknown("GetItem", TableName="missing", Key=KEY)
    (asked,) = found.requests
    assert found.tables == {"missing"}
    assert (asked.action, asked.resource) == ("dynamodb:GetItem", TABLE.replace("keyfence", "missing"))
    assert leading(asked) is None


def test_the_known_tables_of_a_batch_keep_their_leading_keys() -> None:
    found = unknown("BatchGetItem", RequestItems={"keyfence": {"Keys": [KEY]}, "missing": {"Keys": [KEY]}})
    assert [leading(asked) for asked in found.requests] == [(KEY["PK"]["S"],), None]


def test_a_table_of_another_account_keeps_its_arn_and_is_unknown() -> None:
    found = unknown("GetItem", TableName=FOREIGN, Key=KEY)
    assert found.tables == {FOREIGN}
    assert found.requests[0].resource == FOREIGN


QUERY = {"TableName": "a-table", "KeyConditionExpression": "x = :v", "ExpressionAttributeValues": {":v": s("x")}}


@pytest.mark.parametrize(
    ("operation", "parameters", "tables"),
    [
        ("Query", QUERY, {"a-table"}),
        ("GetItem", {"TableName": TABLE, "Key": KEY}, {"keyfence"}),
        ("BatchWriteItem", {"RequestItems": {"x1": [{"PutRequest": {"Item": KEY}}], "y1": []}}, {"x1", "y1"}),
        ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "x1", "Key": KEY}}]}, {"x1"}),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "x1"."i1"'}, {"x1"}),
        ("Scan", {"TableName": "x1"}, set()),
        ("DescribeTable", {"TableName": "x1"}, set()),
        ("ListTables", {}, set()),
    ],
)
def test_the_tables_whose_schema_is_needed_are_known_beforehand(
    operation: str, parameters: dict[str, Any], tables: set[str]
) -> None:
    assert tables_needed(operation, parameters) == tables


def test_an_unsupported_call_needs_no_tables() -> None:
    with pytest.raises(UnsupportedRequest):
        tables_needed("Query", {"TableName": "x1", "Undocumented": True})


def described(**changes: Any) -> dict[str, Any]:
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
    keys = TableSchema.from_description(described())
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
        TableSchema.from_description(described(**changes))
