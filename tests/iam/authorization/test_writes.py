"""Authorization requests of writes: single, in batches and in transactions."""

from typing import Any

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

ITEM = {**KEY, "email": string_value("a@b"), "GSI1PK": string_value("TENANT#globex#EMAIL#a@b")}
WRITES: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": ITEM},
    "UpdateItem": {
        "Key": KEY,
        "UpdateExpression": "SET email = :e",
        "ExpressionAttributeValues": {":e": string_value("x")},
    },
    "DeleteItem": {"Key": KEY},
}


@pytest.mark.parametrize("operation", WRITES)
def test_a_write_is_authorized_for_the_tables_partition_whatever_it_puts_into_an_index(operation: str) -> None:
    write = authorization(operation, **WRITES[operation])
    assert (write.action, write.resource, leading_keys(write)) == (f"dynamodb:{operation}", TABLE_ARN, (OWN_KEY,))
    assert context_value(write, "ReturnValues") == "NONE"
    assert context_value(write, "Select") is context_value(write, "EnclosingOperation") is None


@pytest.mark.parametrize("operation", WRITES)
def test_return_values_of_a_write_are_a_condition_key(operation: str) -> None:
    assert (
        context_value(authorization(operation, ReturnValues="ALL_OLD", **WRITES[operation]), "ReturnValues")
        == "ALL_OLD"
    )
    with pytest.raises(UnsupportedRequest, match="ReturnValues"):
        authorization(operation, ReturnValues="ALL", **WRITES[operation])


def test_a_put_mentions_every_attribute_of_its_item_and_condition() -> None:
    put = authorization(
        "PutItem", Item=ITEM, ConditionExpression="attribute_not_exists(#v)", ExpressionAttributeNames={"#v": "version"}
    )
    assert mentioned_attributes(put) == {"PK", "SK", "email", "GSI1PK", "version"}


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"SK": string_value("x")},
        {"pk": string_value("x")},
        {"PK": {"N": "1"}},
        {"PK": {"B": "eA=="}},
        {"PK": string_value("")},
    ],
)
def test_a_write_without_a_string_as_its_partition_key_is_unsupported(item: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        authorization("PutItem", Item=item)
    with pytest.raises(UnsupportedRequest):
        authorization("DeleteItem", Key=item)


def test_a_batch_of_writes_is_authorized_for_its_own_action_once_per_table() -> None:
    mine, theirs = authorizations(
        "BatchWriteItem",
        RequestItems={
            "keyfence": [
                {"PutRequest": {"Item": ITEM}},
                {"DeleteRequest": {"Key": {"PK": string_value("TENANT#globex#")}}},
            ],
            "other": [{"DeleteRequest": {"Key": {"id": string_value("7")}}}],
        },
    )
    assert (mine.action, mine.resource, leading_keys(mine)) == (
        "dynamodb:BatchWriteItem",
        TABLE_ARN,
        (OWN_KEY, "TENANT#globex#"),
    )
    assert mentioned_attributes(mine) == {"PK", "SK", "email", "GSI1PK"}
    assert context_value(mine, "ReturnValues") is None
    assert (theirs.resource, leading_keys(theirs)) == (OTHER_TABLE_ARN, ("7",))


@pytest.mark.parametrize(
    "requests",
    [
        {},
        {"keyfence": []},
        {"keyfence": [{}]},
        {"keyfence": [{"PutRequest": {"Item": ITEM}, "DeleteRequest": {"Key": KEY}}]},
        {"keyfence": [{"PutRequest": {"Item": ITEM, "Key": KEY}}]},
        {"keyfence": [{"PutRequest": {"Key": KEY}}]},
        {"keyfence": {"PutRequest": {"Item": ITEM}}},
        {"keyfence": [{"UpdateRequest": {"Key": KEY}}]},
    ],
    ids=str,
)
def test_a_batch_of_anything_but_puts_and_deletes_is_unsupported(requests: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        authorizations("BatchWriteItem", RequestItems=requests)


def test_a_transaction_of_writes_needs_the_action_of_each_item() -> None:
    at = {"TableName": "keyfence"}
    check = {"Key": {"PK": string_value("check")}, "ConditionExpression": "attribute_exists(email)", **at}
    items = [
        {"Put": {"Item": {"PK": string_value("put"), "name": string_value("n")}, **at}},
        {"Update": {"Key": {"PK": string_value("update")}, "UpdateExpression": "REMOVE email", **at}},
        {"Delete": {"Key": {"PK": string_value("delete")}, **at}},
        {"ConditionCheck": check},
    ]
    requests = authorizations("TransactWriteItems", TransactItems=items, ReturnConsumedCapacity="TOTAL")
    assert [(one.action, leading_keys(one)) for one in requests] == [
        ("dynamodb:PutItem", ("put",)),
        ("dynamodb:UpdateItem", ("update",)),
        ("dynamodb:DeleteItem", ("delete",)),
        ("dynamodb:ConditionCheckItem", ("check",)),
    ]
    assert [mentioned_attributes(one) for one in requests] == [{"PK", "name"}, {"PK", "email"}, {"PK"}, {"PK", "email"}]
    assert {context_value(one, "EnclosingOperation") for one in requests} == {"TransactWriteItems"}
    assert {context_value(one, "ReturnConsumedCapacity") for one in requests} == {"TOTAL"}


def test_a_transaction_of_reads_is_authorized_for_every_get() -> None:
    gets = [
        {"Get": {"TableName": "keyfence", "Key": KEY}},
        {"Get": {"TableName": "other", "Key": {"id": string_value("7")}}},
    ]
    mine, theirs = authorizations("TransactGetItems", TransactItems=gets)
    assert (mine.action, mine.resource, leading_keys(mine)) == ("dynamodb:GetItem", TABLE_ARN, (OWN_KEY,))
    assert (theirs.resource, leading_keys(theirs)) == (OTHER_TABLE_ARN, ("7",))
    assert (
        context_value(mine, "EnclosingOperation") == context_value(theirs, "EnclosingOperation") == "TransactGetItems"
    )


@pytest.mark.parametrize(
    "items",
    [
        [],
        [{}],
        {"Delete": {"TableName": "keyfence", "Key": KEY}},
        [{"Delete": {"TableName": "keyfence", "Key": KEY}, "Put": {"TableName": "keyfence", "Item": ITEM}}],
        [{"Get": {"TableName": "keyfence", "Key": KEY}}],
        [{"Delete": {"Key": KEY}}],
        [{"Delete": {"TableName": "keyfence", "Item": KEY}}],
        [{"Put": {"TableName": "keyfence", "Key": KEY, "Item": ITEM}}],
    ],
    ids=str,
)
def test_a_transaction_of_anything_else_is_unsupported(items: object) -> None:
    with pytest.raises(UnsupportedRequest):
        authorizations("TransactWriteItems", TransactItems=items)


@pytest.mark.parametrize(
    "update",
    [
        {"UpdateExpression": "SET PK = :e"},
        {"UpdateExpression": "SET email = :e REMOVE #p"},
        {"UpdateExpression": "SET #p = email"},
        {"UpdateExpression": "ADD PK.x :e"},
        {"AttributeUpdates": {"PK": {"Value": string_value("TENANT#globex#")}}},
    ],
    ids=str,
)
def test_an_update_of_the_partition_key_is_unsupported(update: dict[str, Any]) -> None:
    names = {"ExpressionAttributeNames": {"#p": "PK"}, "ExpressionAttributeValues": {":e": string_value("x")}}
    call = {"TableName": "keyfence", "Key": KEY, **names, **update}
    with pytest.raises(UnsupportedRequest, match="partition key"):
        authorizations("UpdateItem", **call)
    with pytest.raises(UnsupportedRequest):
        authorizations("TransactWriteItems", TransactItems=[{"Update": call}])
