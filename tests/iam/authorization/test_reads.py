"""Authorization requests of reads."""

import pytest

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import (
    KEY,
    OTHER_TABLE_ARN,
    OWN_KEY,
    TABLE_ARN,
    authorization,
    authorizations,
    context_value,
    leading_keys,
    mentioned_attributes,
    string_value,
)

EQUALS = {"KeyConditionExpression": "PK = :pk", "ExpressionAttributeValues": {":pk": string_value(OWN_KEY)}}


def test_a_get_is_authorized_for_its_partition_on_the_table() -> None:
    get = authorization("GetItem", Key=KEY)
    assert (get.action, get.resource, leading_keys(get)) == ("dynamodb:GetItem", TABLE_ARN, (OWN_KEY,))
    assert mentioned_attributes(get) == {"PK", "SK"}
    assert context_value(get, "ReturnConsumedCapacity") == "NONE"
    assert (
        context_value(get, "ReturnValues")
        is context_value(get, "EnclosingOperation")
        is context_value(get, "FullTableScan")
        is None
    )


def test_select_tells_a_get_of_all_attributes_from_a_get_of_some() -> None:
    assert context_value(authorization("GetItem", Key=KEY), "Select") == "ALL_ATTRIBUTES"
    projected = authorization("GetItem", Key=KEY, ProjectionExpression="email")
    assert context_value(projected, "Select") == "SPECIFIC_ATTRIBUTES"
    assert (
        context_value(authorization("GetItem", Key=KEY, AttributesToGet=["email"]), "Select") == "SPECIFIC_ATTRIBUTES"
    )


def test_a_batch_is_authorized_once_per_table_for_all_partitions_together() -> None:
    entries = {
        "keyfence": {
            "Keys": [KEY, {"PK": string_value("TENANT#globex#"), "SK": string_value("x")}],
            "ProjectionExpression": "email",
        },
        "other": {"Keys": [{"id": string_value("7")}]},
    }
    mine, theirs = authorizations("BatchGetItem", RequestItems=entries, ReturnConsumedCapacity="TOTAL")
    assert (mine.action, mine.resource, leading_keys(mine)) == (
        "dynamodb:BatchGetItem",
        TABLE_ARN,
        (OWN_KEY, "TENANT#globex#"),
    )
    assert mentioned_attributes(mine) == {"PK", "SK", "email"}
    assert context_value(mine, "Select") == "SPECIFIC_ATTRIBUTES"
    assert (theirs.resource, leading_keys(theirs), context_value(theirs, "Select")) == (
        OTHER_TABLE_ARN,
        ("7",),
        "ALL_ATTRIBUTES",
    )
    assert {context_value(mine, "ReturnConsumedCapacity"), context_value(theirs, "ReturnConsumedCapacity")} == {"TOTAL"}


def test_a_table_that_occurs_twice_in_a_batch_is_authorized_once_with_all_its_keys() -> None:
    entries = {
        "keyfence": {"Keys": [KEY]},
        TABLE_ARN: {"Keys": [{"PK": string_value("TENANT#globex#")}], "AttributesToGet": ["x"]},
    }
    (together,) = authorizations("BatchGetItem", RequestItems=entries)
    assert leading_keys(together) == (OWN_KEY, "TENANT#globex#")
    assert context_value(together, "Select") == "ALL_ATTRIBUTES"


def test_a_query_is_authorized_for_the_partition_of_its_key_condition() -> None:
    query = authorization("Query", **EQUALS)
    assert (query.action, query.resource, leading_keys(query)) == ("dynamodb:Query", TABLE_ARN, (OWN_KEY,))
    assert context_value(query, "Select") == "ALL_ATTRIBUTES"


def test_a_query_of_an_index_is_authorized_for_the_index_alone_and_its_own_partition() -> None:
    query = authorization(
        "Query",
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :pk",
        ExpressionAttributeValues={":pk": string_value("TENANT#acme#EMAIL#a@b")},
        FilterExpression="PK = :pk",
    )
    assert (query.resource, leading_keys(query)) == (f"{TABLE_ARN}/index/GSI1", ("TENANT#acme#EMAIL#a@b",))
    assert context_value(query, "Select") == "ALL_PROJECTED_ATTRIBUTES"


def test_a_local_index_has_the_tables_partition_key() -> None:
    query = authorization("Query", IndexName="LSI1", **EQUALS)
    assert (query.resource, leading_keys(query)) == (f"{TABLE_ARN}/index/LSI1", (OWN_KEY,))


def test_an_index_with_several_partition_key_attributes_needs_them_all() -> None:
    values = {":c": string_value("NL"), ":t": string_value("Delft")}
    query = authorization(
        "Query",
        IndexName="TOWNS",
        KeyConditionExpression="town = :t AND country = :c",
        ExpressionAttributeValues=values,
    )
    assert (leading_keys(query), context_value(query, "SecondPartitionKeyValues")) == (("NL",), ("Delft",))
    assert context_value(query, "ThirdPartitionKeyValues") is None
    with pytest.raises(UnsupportedRequest, match="town"):
        authorization(
            "Query", IndexName="TOWNS", KeyConditionExpression="country = :c", ExpressionAttributeValues=values
        )


@pytest.mark.parametrize("index", ["GSI9", "GSI1/../GSI2", "*", ""])
def test_an_unknown_index_is_unsupported(index: str) -> None:
    with pytest.raises(UnsupportedRequest):
        authorization("Query", IndexName=index, **EQUALS)


def test_a_scan_has_no_leading_keys_whatever_it_filters() -> None:
    scan = authorization("Scan", FilterExpression="PK = :pk", ExpressionAttributeValues={":pk": string_value(OWN_KEY)})
    assert (scan.action, scan.resource, leading_keys(scan)) == ("dynamodb:Scan", TABLE_ARN, None)
    assert mentioned_attributes(scan) == {"PK"}


def test_a_scan_that_mentions_nothing_has_no_attributes_rather_than_an_empty_list() -> None:
    assert "dynamodb:Attributes" not in authorization("Scan").context


def test_a_scan_of_an_index_is_authorized_for_the_index() -> None:
    assert authorization("Scan", IndexName="GSI1").resource == f"{TABLE_ARN}/index/GSI1"


def test_an_explicit_select_is_the_value_of_the_condition_key() -> None:
    assert context_value(authorization("Query", Select="COUNT", **EQUALS), "Select") == "COUNT"
    with pytest.raises(UnsupportedRequest, match="Select"):
        authorization("Query", Select="EVERYTHING", **EQUALS)


@pytest.mark.parametrize("named", [TABLE_ARN, "keyfence"])
def test_a_table_may_be_named_by_its_arn(named: str) -> None:
    (get,) = authorizations("GetItem", TableName=named, Key=KEY)
    assert (get.resource, leading_keys(get)) == (TABLE_ARN, (OWN_KEY,))


@pytest.mark.parametrize(
    "named",
    [
        "",
        "key fence",
        "keyfence/index/GSI1",
        "keyfence*",
        "*",
        f"{TABLE_ARN}/index/GSI1",
        "arn:aws:s3:::keyfence",
        "a" * 256,
    ],
)
def test_a_name_that_is_not_a_table_is_unsupported(named: str) -> None:
    with pytest.raises(UnsupportedRequest):
        authorizations("GetItem", TableName=named, Key=KEY)
