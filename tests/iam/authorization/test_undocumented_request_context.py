"""Decisions about behavior that AWS does not document, until a real account confirms them."""

import pytest

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import KEY, TABLE, asked, leading, of, one, s


def test_indexes_is_sent_as_the_consumed_capacity() -> None:
    assert of(one("GetItem", Key=KEY, ReturnConsumedCapacity="INDEXES"), "ReturnConsumedCapacity") == "INDEXES"
    with pytest.raises(UnsupportedRequest):
        one("GetItem", Key=KEY, ReturnConsumedCapacity="ALL")


def test_in_a_transaction_return_values_is_what_a_failed_condition_discloses() -> None:
    at = {"TableName": "keyfence", "Key": KEY, "ConditionExpression": "attribute_exists(PK)"}
    for kind in ("ConditionCheck", "Delete"):
        silent, telling = asked(
            "TransactWriteItems",
            TransactItems=[{kind: at}, {kind: {**at, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}],
        )
        assert (of(silent, "ReturnValues"), of(telling, "ReturnValues")) == ("NONE", "ALL_OLD")


def test_outside_of_a_transaction_return_values_ignores_failed_conditions() -> None:
    put = one("PutItem", Item=KEY, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert of(put, "ReturnValues") == "NONE"


def test_a_condition_check_has_the_enclosing_operation() -> None:
    check = {"TableName": "keyfence", "Key": KEY, "ConditionExpression": "attribute_exists(PK)"}
    (asked_for,) = asked("TransactWriteItems", TransactItems=[{"ConditionCheck": check}])
    assert of(asked_for, "EnclosingOperation") == "TransactWriteItems"


def test_a_query_of_an_index_needs_no_permission_for_the_table() -> None:
    values = {":v": s("x")}
    found = asked(
        "Query",
        TableName="keyfence",
        IndexName="GSI1",
        KeyConditionExpression="GSI1PK = :v",
        ExpressionAttributeValues=values,
    )
    assert [one.resource for one in found] == [f"{TABLE}/index/GSI1"]


def test_the_keys_of_a_batch_are_in_one_request_so_that_one_statement_must_allow_them_all() -> None:
    keys = [{"PK": s("a")}, {"PK": s("b")}, {"PK": s("a")}]
    (batch,) = asked("BatchGetItem", RequestItems={"keyfence": {"Keys": keys}})
    assert leading(batch) == ("a", "b")


def test_the_partition_key_is_among_the_attributes_of_a_query() -> None:
    found = one("Query", KeyConditionExpression="PK = :v", ExpressionAttributeValues={":v": s("x")})
    assert of(found, "Attributes") == ("PK",)


def test_calls_without_a_table_have_these_resources() -> None:
    resources = {
        name: asked(name)[0].resource for name in ("ListTables", "ListStreams", "DescribeLimits", "DescribeEndpoints")
    }
    assert resources == {
        "ListTables": "arn:aws:dynamodb:us-east-1:000000000000:table/*",
        "ListStreams": "*",
        "DescribeLimits": "*",
        "DescribeEndpoints": "*",
    }


def test_several_statements_have_the_value_that_discloses_most() -> None:
    texts = ["DELETE FROM keyfence WHERE PK = 'a' RETURNING ALL OLD *", "DELETE FROM keyfence WHERE PK = 'b'"]
    (both,) = asked("ExecuteTransaction", TransactStatements=[{"Statement": text} for text in texts])
    assert of(both, "ReturnValues") == "ALL_OLD"
