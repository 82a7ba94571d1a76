"""Assumptions about authorization requests that AWS does not document. A real account has to confirm them."""

import pytest

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import (
    KEY,
    TABLE_ARN,
    authorization,
    authorizations,
    context_value,
    leading_keys,
    string_value,
)


def test_the_value_indexes_of_return_consumed_capacity_is_not_replaced() -> None:
    assert (
        context_value(authorization("GetItem", Key=KEY, ReturnConsumedCapacity="INDEXES"), "ReturnConsumedCapacity")
        == "INDEXES"
    )
    with pytest.raises(UnsupportedRequest):
        authorization("GetItem", Key=KEY, ReturnConsumedCapacity="ALL")


def test_in_a_transaction_return_values_is_what_a_failed_condition_discloses() -> None:
    at = {"TableName": "keyfence", "Key": KEY, "ConditionExpression": "attribute_exists(PK)"}
    for kind in ("ConditionCheck", "Delete"):
        without_old_item, with_old_item = authorizations(
            "TransactWriteItems",
            TransactItems=[{kind: at}, {kind: {**at, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}],
        )
        assert (context_value(without_old_item, "ReturnValues"), context_value(with_old_item, "ReturnValues")) == (
            "NONE",
            "ALL_OLD",
        )


def test_outside_of_a_transaction_return_values_ignores_failed_conditions() -> None:
    put = authorization("PutItem", Item=KEY, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert context_value(put, "ReturnValues") == "NONE"


def test_a_condition_check_has_the_enclosing_operation() -> None:
    check = {"TableName": "keyfence", "Key": KEY, "ConditionExpression": "attribute_exists(PK)"}
    (request,) = authorizations("TransactWriteItems", TransactItems=[{"ConditionCheck": check}])
    assert context_value(request, "EnclosingOperation") == "TransactWriteItems"


def test_a_query_of_an_index_needs_no_permission_for_the_table() -> None:
    values = {":v": string_value("x")}
    requests = authorizations(
        "Query",
        TableName="keyfence",
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :v",
        ExpressionAttributeValues=values,
    )
    assert [one.resource for one in requests] == [f"{TABLE_ARN}/index/GSI1"]


def test_the_keys_of_a_batch_are_in_one_request_so_that_one_statement_must_allow_them_all() -> None:
    keys = [{"PK": string_value("a")}, {"PK": string_value("b")}, {"PK": string_value("a")}]
    (batch,) = authorizations("BatchGetItem", RequestItems={"keyfence": {"Keys": keys}})
    assert leading_keys(batch) == ("a", "b")


def test_the_partition_key_is_among_the_attributes_of_a_query() -> None:
    request = authorization(
        "Query", KeyConditionExpression="PK = :v", ExpressionAttributeValues={":v": string_value("x")}
    )
    assert context_value(request, "Attributes") == ("PK",)


def test_calls_without_a_table_have_a_star_as_their_resource_and_list_tables_an_arn() -> None:
    resources = {
        name: authorizations(name)[0].resource
        for name in ("ListTables", "ListStreams", "DescribeLimits", "DescribeEndpoints")
    }
    assert resources == {
        "ListTables": "arn:aws:dynamodb:us-east-1:000000000000:table/*",
        "ListStreams": "*",
        "DescribeLimits": "*",
        "DescribeEndpoints": "*",
    }


def test_merged_statements_have_the_value_that_discloses_most() -> None:
    texts = ["DELETE FROM keyfence WHERE PK = 'a' RETURNING ALL OLD *", "DELETE FROM keyfence WHERE PK = 'b'"]
    (both,) = authorizations("ExecuteTransaction", TransactStatements=[{"Statement": text} for text in texts])
    assert context_value(both, "ReturnValues") == "ALL_OLD"
