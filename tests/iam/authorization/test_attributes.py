"""The attributes that a call mentions are the first parts of its paths."""

from typing import Any

import pytest

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import KEY, authorization, mentioned_attributes, string_value

NAMES = {"#a": "alias", "#d": "dotted.name", "#s": "status"}
VALUES = {":v": string_value("v"), ":w": string_value("w")}


def mentioned(operation: str, **parameters: Any) -> set[str]:
    placeholders = {"ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": VALUES}
    return mentioned_attributes(authorization(operation, **placeholders, **parameters)) - {"PK", "SK"}


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("attribute_exists(email)", {"email"}),
        ("attribute_type(a.b, :v) AND contains(tags, :w)", {"a", "tags"}),
        ("size(a.b[3].c) > :v", {"a"}),
        ("#a = :v OR NOT #d <> :w", {"alias", "dotted.name"}),
        ("a.#s = :v", {"a"}),
        ("#s.b IN (:v, c, :w)", {"status", "c"}),
        ("a BETWEEN b AND :v", {"a", "b"}),
        ("((a = :v) AND (b = :v OR c = :v))", {"a", "b", "c"}),
        ("begins_with(_hidden, :v)", {"_hidden"}),
    ],
)
def test_conditions_and_filters_mention_the_first_part_of_each_path(condition: str, names: set[str]) -> None:
    assert mentioned("DeleteItem", Key=KEY, ConditionExpression=condition) == names
    assert mentioned("Scan", FilterExpression=condition) == names


@pytest.mark.parametrize(
    ("update", "names"),
    [
        ("SET email = :v", {"email"}),
        ("set a.b[0] = :v, #s = c", {"a", "status", "c"}),
        ("SET n = if_not_exists(m, :v) + :w", {"n", "m"}),
        ("SET n = n - step", {"n", "step"}),
        ("SET l = list_append(k, :v)", {"l", "k"}),
        ("SET a = (:v)", {"a"}),
        ("REMOVE a, b[1], #d", {"a", "b", "dotted.name"}),
        ("ADD n :v, m :w", {"n", "m"}),
        ("DELETE tags :v", {"tags"}),
        ("DELETE t :v REMOVE r SET s = :v ADD n :v", {"t", "r", "s", "n"}),
    ],
)
def test_updates_mention_what_they_change_and_what_they_read(update: str, names: set[str]) -> None:
    assert mentioned("UpdateItem", Key=KEY, UpdateExpression=update) == names


@pytest.mark.parametrize(
    ("projection", "names"),
    [("a", {"a"}), ("a.b, c[0].d , #a", {"a", "c", "alias"}), ("\n#d", {"dotted.name"})],
)
def test_projections_mention_what_they_select(projection: str, names: set[str]) -> None:
    assert mentioned("Scan", ProjectionExpression=projection) == names


def test_legacy_maps_mention_their_keys() -> None:
    compared = {"ComparisonOperator": "NULL"}
    assert mentioned("DeleteItem", Key=KEY, Expected={"a.b": {"Exists": False}}) == {"a.b"}
    assert mentioned("Scan", ScanFilter={"a": compared}, AttributesToGet=["b"], ConditionalOperator="OR") == {"a", "b"}
    assert mentioned("UpdateItem", Key=KEY, AttributeUpdates={"a": {"Action": "DELETE"}}) == {"a"}
    equals = {"PK": {"ComparisonOperator": "EQ", "AttributeValueList": [string_value("x")]}}
    assert mentioned("Query", KeyConditions=equals, QueryFilter={"a": compared}) == {"a"}


@pytest.mark.parametrize(
    "update",
    [
        "",
        "SET",
        "SET a",
        "SET a = ",
        "email = :v",
        "SET a = :v SET b = :v",
        "ADD a",
        "ADD a b",
        "REMOVE",
        "SET a = b = c",
        "SET a = :v,",
        "SET #absent = :v",
        "SET a = (b = c)",
        "SET SET = :v",
        "SET a = evil(:v)",
        "UPSERT a = :v",
    ],
)
def test_an_update_that_cannot_be_parsed_is_unsupported(update: str) -> None:
    with pytest.raises(UnsupportedRequest):
        mentioned("UpdateItem", Key=KEY, UpdateExpression=update)


@pytest.mark.parametrize("projection", ["", ",", "a,", "a b", "a..b", "a[b]", "a[0", ":v", "size(a)", "#absent", "*"])
def test_a_projection_that_cannot_be_parsed_is_unsupported(projection: str) -> None:
    with pytest.raises(UnsupportedRequest):
        mentioned("Scan", ProjectionExpression=projection)


@pytest.mark.parametrize(
    "condition", ["a", ":v", "size(a)", "a = :v AND b", "NOT a", "(a = :v) = :w", "a + b", "a = :v b"]
)
def test_a_value_is_not_a_condition(condition: str) -> None:
    with pytest.raises(UnsupportedRequest):
        mentioned("DeleteItem", Key=KEY, ConditionExpression=condition)
