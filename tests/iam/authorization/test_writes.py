"""Authorization requests of writes: single, in batches and in transactions."""

from typing import Any

import pytest

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import KEY, OTHER, OWN, TABLE, asked, attributes, leading, of, one, s

ITEM = {**KEY, "email": s("a@b"), "GSI1PK": s("TENANT#globex#EMAIL#a@b")}
WRITES: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": ITEM},
    "UpdateItem": {"Key": KEY, "UpdateExpression": "SET email = :e", "ExpressionAttributeValues": {":e": s("x")}},
    "DeleteItem": {"Key": KEY},
}


@pytest.mark.parametrize("operation", WRITES)
def test_a_write_is_authorized_for_the_tables_partition_whatever_it_puts_into_an_index(operation: str) -> None:
    write = one(operation, **WRITES[operation])
    assert (write.action, write.resource, leading(write)) == (f"dynamodb:{operation}", TABLE, (OWN,))
    assert of(write, "ReturnValues") == "NONE"
    assert of(write, "Select") is of(write, "EnclosingOperation") is None


@pytest.mark.parametrize("operation", WRITES)
def test_return_values_of_a_write_are_a_condition_key(operation: str) -> None:
    assert of(one(operation, ReturnValues="ALL_OLD", **WRITES[operation]), "ReturnValues") == "ALL_OLD"
    with pytest.raises(UnsupportedRequest, match="ReturnValues"):
        one(operation, ReturnValues="ALL", **WRITES[operation])


def test_a_put_mentions_every_attribute_of_its_item_and_condition() -> None:
    put = one(
        "PutItem", Item=ITEM, ConditionExpression="attribute_not_exists(#v)", ExpressionAttributeNames={"#v": "version"}
    )
    assert attributes(put) == {"PK", "SK", "email", "GSI1PK", "version"}


@pytest.mark.parametrize(
    "item", [{}, {"SK": s("x")}, {"pk": s("x")}, {"PK": {"N": "1"}}, {"PK": {"B": "eA=="}}, {"PK": s("")}]
)
def test_a_write_without_a_string_as_its_partition_key_is_unsupported(item: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        one("PutItem", Item=item)
    with pytest.raises(UnsupportedRequest):
        one("DeleteItem", Key=item)


def test_a_batch_of_writes_is_authorized_for_its_own_action_once_per_table() -> None:
    mine, theirs = asked(
        "BatchWriteItem",
        RequestItems={
            "keyfence": [{"PutRequest": {"Item": ITEM}}, {"DeleteRequest": {"Key": {"PK": s("TENANT#globex#")}}}],
            "other": [{"DeleteRequest": {"Key": {"id": s("7")}}}],
        },
    )
    assert (mine.action, mine.resource, leading(mine)) == ("dynamodb:BatchWriteItem", TABLE, (OWN, "TENANT#globex#"))
    assert attributes(mine) == {"PK", "SK", "email", "GSI1PK"}
    assert of(mine, "ReturnValues") is None
    assert (theirs.resource, leading(theirs)) == (OTHER, ("7",))


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
def test_a_batch_that_is_not_puts_and_deletes_is_unsupported(requests: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        asked("BatchWriteItem", RequestItems=requests)


def test_a_transaction_of_writes_needs_the_action_of_each_item() -> None:
    at = {"TableName": "keyfence"}
    check = {"Key": {"PK": s("check")}, "ConditionExpression": "attribute_exists(email)", **at}
    items = [
        {"Put": {"Item": {"PK": s("put"), "name": s("n")}, **at}},
        {"Update": {"Key": {"PK": s("update")}, "UpdateExpression": "REMOVE email", **at}},
        {"Delete": {"Key": {"PK": s("delete")}, **at}},
        {"ConditionCheck": check},
    ]
    found = asked("TransactWriteItems", TransactItems=items, ReturnConsumedCapacity="TOTAL")
    assert [(one.action, leading(one)) for one in found] == [
        ("dynamodb:PutItem", ("put",)),
        ("dynamodb:UpdateItem", ("update",)),
        ("dynamodb:DeleteItem", ("delete",)),
        ("dynamodb:ConditionCheckItem", ("check",)),
    ]
    assert [attributes(one) for one in found] == [{"PK", "name"}, {"PK", "email"}, {"PK"}, {"PK", "email"}]
    assert {of(one, "EnclosingOperation") for one in found} == {"TransactWriteItems"}
    assert {of(one, "ReturnConsumedCapacity") for one in found} == {"TOTAL"}


def test_a_transaction_of_reads_is_authorized_for_every_get() -> None:
    gets = [{"Get": {"TableName": "keyfence", "Key": KEY}}, {"Get": {"TableName": "other", "Key": {"id": s("7")}}}]
    mine, theirs = asked("TransactGetItems", TransactItems=gets)
    assert (mine.action, mine.resource, leading(mine)) == ("dynamodb:GetItem", TABLE, (OWN,))
    assert (theirs.resource, leading(theirs)) == (OTHER, ("7",))
    assert of(mine, "EnclosingOperation") == of(theirs, "EnclosingOperation") == "TransactGetItems"


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
        asked("TransactWriteItems", TransactItems=items)


@pytest.mark.parametrize(
    "update",
    [
        {"UpdateExpression": "SET PK = :e"},
        {"UpdateExpression": "SET email = :e REMOVE #p"},
        {"UpdateExpression": "SET #p = email"},
        {"UpdateExpression": "ADD PK.x :e"},
        {"AttributeUpdates": {"PK": {"Value": s("TENANT#globex#")}}},
    ],
    ids=str,
)
def test_an_update_of_the_partition_key_is_unsupported(update: dict[str, Any]) -> None:
    names = {"ExpressionAttributeNames": {"#p": "PK"}, "ExpressionAttributeValues": {":e": s("x")}}
    call = {"TableName": "keyfence", "Key": KEY, **names, **update}
    with pytest.raises(UnsupportedRequest, match="partition key"):
        asked("UpdateItem", **call)
    with pytest.raises(UnsupportedRequest):
        asked("TransactWriteItems", TransactItems=[{"Update": call}])
