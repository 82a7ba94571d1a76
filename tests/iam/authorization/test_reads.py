"""Authorization requests of reads."""

import pytest

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import KEY, OTHER, OWN, TABLE, asked, attributes, leading, of, one, s

EQUALS = {"KeyConditionExpression": "PK = :pk", "ExpressionAttributeValues": {":pk": s(OWN)}}


def test_a_get_is_authorized_for_its_partition_on_the_table() -> None:
    get = one("GetItem", Key=KEY)
    assert (get.action, get.resource, leading(get)) == ("dynamodb:GetItem", TABLE, (OWN,))
    assert attributes(get) == {"PK", "SK"}
    assert of(get, "ReturnConsumedCapacity") == "NONE"
    assert of(get, "ReturnValues") is of(get, "EnclosingOperation") is of(get, "FullTableScan") is None


def test_a_get_of_all_attributes_differs_from_a_get_of_some() -> None:
    assert of(one("GetItem", Key=KEY), "Select") == "ALL_ATTRIBUTES"
    projected = one("GetItem", Key=KEY, ProjectionExpression="email")
    assert of(projected, "Select") == "SPECIFIC_ATTRIBUTES"
    assert of(one("GetItem", Key=KEY, AttributesToGet=["email"]), "Select") == "SPECIFIC_ATTRIBUTES"


def test_a_batch_is_authorized_once_per_table_for_all_partitions_together() -> None:
    entries = {
        "keyfence": {"Keys": [KEY, {"PK": s("TENANT#globex#"), "SK": s("x")}], "ProjectionExpression": "email"},
        "other": {"Keys": [{"id": s("7")}]},
    }
    mine, theirs = asked("BatchGetItem", RequestItems=entries, ReturnConsumedCapacity="TOTAL")
    assert (mine.action, mine.resource, leading(mine)) == ("dynamodb:BatchGetItem", TABLE, (OWN, "TENANT#globex#"))
    assert attributes(mine) == {"PK", "SK", "email"}
    assert of(mine, "Select") == "SPECIFIC_ATTRIBUTES"
    assert (theirs.resource, leading(theirs), of(theirs, "Select")) == (OTHER, ("7",), "ALL_ATTRIBUTES")
    assert {of(mine, "ReturnConsumedCapacity"), of(theirs, "ReturnConsumedCapacity")} == {"TOTAL"}


def test_a_table_that_occurs_twice_in_a_batch_is_authorized_once_with_all_its_keys() -> None:
    entries = {"keyfence": {"Keys": [KEY]}, TABLE: {"Keys": [{"PK": s("TENANT#globex#")}], "AttributesToGet": ["x"]}}
    (together,) = asked("BatchGetItem", RequestItems=entries)
    assert leading(together) == (OWN, "TENANT#globex#")
    assert of(together, "Select") == "ALL_ATTRIBUTES"


def test_a_query_is_authorized_for_the_partition_of_its_key_condition() -> None:
    query = one("Query", **EQUALS)
    assert (query.action, query.resource, leading(query)) == ("dynamodb:Query", TABLE, (OWN,))
    assert of(query, "Select") == "ALL_ATTRIBUTES"


def test_a_query_of_an_index_is_authorized_for_the_index_alone_and_its_own_partition() -> None:
    query = one(
        "Query",
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :pk",
        ExpressionAttributeValues={":pk": s("TENANT#acme#EMAIL#a@b")},
        FilterExpression="PK = :pk",
    )
    assert (query.resource, leading(query)) == (f"{TABLE}/index/GSI1", ("TENANT#acme#EMAIL#a@b",))
    assert of(query, "Select") == "ALL_PROJECTED_ATTRIBUTES"


def test_a_local_index_has_the_tables_partition_key() -> None:
    query = one("Query", IndexName="LSI1", **EQUALS)
    assert (query.resource, leading(query)) == (f"{TABLE}/index/LSI1", (OWN,))


def test_an_index_with_several_partition_key_attributes_needs_them_all() -> None:
    values = {":c": s("NL"), ":t": s("Delft")}
    query = one(
        "Query",
        IndexName="TOWNS",
        KeyConditionExpression="town = :t AND country = :c",
        ExpressionAttributeValues=values,
    )
    assert (leading(query), of(query, "SecondPartitionKeyValues")) == (("NL",), ("Delft",))
    assert of(query, "ThirdPartitionKeyValues") is None
    with pytest.raises(UnsupportedRequest, match="town"):
        one("Query", IndexName="TOWNS", KeyConditionExpression="country = :c", ExpressionAttributeValues=values)


@pytest.mark.parametrize("index", ["GSI9", "GSI1/../GSI2", "*", ""])
def test_an_unknown_index_is_unsupported(index: str) -> None:
    with pytest.raises(UnsupportedRequest):
        one("Query", IndexName=index, **EQUALS)


def test_a_scan_has_no_leading_keys_whatever_it_filters() -> None:
    scan = one("Scan", FilterExpression="PK = :pk", ExpressionAttributeValues={":pk": s(OWN)})
    assert (scan.action, scan.resource, leading(scan)) == ("dynamodb:Scan", TABLE, None)
    assert attributes(scan) == {"PK"}


def test_a_scan_that_mentions_nothing_has_no_attributes_rather_than_an_empty_list() -> None:
    assert "dynamodb:Attributes" not in one("Scan").context


def test_a_scan_of_an_index_is_authorized_for_the_index() -> None:
    assert one("Scan", IndexName="GSI1").resource == f"{TABLE}/index/GSI1"


def test_an_explicit_select_is_the_condition_key() -> None:
    assert of(one("Query", Select="COUNT", **EQUALS), "Select") == "COUNT"
    with pytest.raises(UnsupportedRequest, match="Select"):
        one("Query", Select="EVERYTHING", **EQUALS)


@pytest.mark.parametrize("named", [TABLE, "keyfence"])
def test_a_table_may_be_named_by_its_arn(named: str) -> None:
    (get,) = asked("GetItem", TableName=named, Key=KEY)
    assert (get.resource, leading(get)) == (TABLE, (OWN,))


@pytest.mark.parametrize(
    "named",
    [
        "",
        "key fence",
        "keyfence/index/GSI1",
        "keyfence*",
        "*",
        f"{TABLE}/index/GSI1",
        "arn:aws:s3:::keyfence",
        "a" * 256,
    ],
)
def test_a_name_that_is_not_a_table_is_unsupported(named: str) -> None:
    with pytest.raises(UnsupportedRequest):
        asked("GetItem", TableName=named, Key=KEY)
