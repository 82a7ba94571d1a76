"""Any body of a call gives authorization requests or UnsupportedRequest, and no other error."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.authorization import (
    SUPPORTED_OPERATIONS,
    UnsupportedRequest,
    authorizations_for,
    index_keys_written,
    tables_needed,
)
from tests.iam.authorization.sample_table import KEY, KEYS, PLACE, STREAM, TABLE, s

NAMES = {"ExpressionAttributeNames": {"#p": "PK"}, "ExpressionAttributeValues": {":v": s("x")}}
AT = {"TableName": "keyfence"}
EQ = {"PK": {"ComparisonOperator": "EQ", "AttributeValueList": [s("x")]}}
INSERT = {"Statement": "INSERT INTO keyfence VALUE {'PK': ?}", "Parameters": [s("x")]}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {**AT, "Key": KEY, "ProjectionExpression": "a.b[0]", "ReturnConsumedCapacity": "TOTAL"}),
    ("Query", {**AT, **NAMES, "KeyConditionExpression": "#p = :v", "Select": "COUNT", "FilterExpression": "a = :v"}),
    ("Query", {**AT, "KeyConditions": EQ, "QueryFilter": EQ, "AttributesToGet": ["a"]}),
    ("Scan", {**AT, "IndexName": "GSI1", "ScanFilter": EQ}),
    ("PutItem", {**AT, "Item": {**KEY, "GSI1PK": s("x")}, "Expected": {"a": {"Exists": False}}}),
    ("UpdateItem", {**AT, **NAMES, "Key": KEY, "UpdateExpression": "SET GSI1PK = :v", "ReturnValues": "ALL_OLD"}),
    ("UpdateItem", {**AT, "Key": KEY, "AttributeUpdates": {"GSI1PK": {"Action": "PUT", "Value": s("x")}}}),
    ("DeleteItem", {**AT, **NAMES, "Key": KEY, "ConditionExpression": "attribute_exists(#p)"}),
    ("BatchGetItem", {"RequestItems": {"keyfence": {"Keys": [KEY], "ProjectionExpression": "a"}}}),
    (
        "BatchWriteItem",
        {"RequestItems": {"keyfence": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}},
    ),
    ("TransactGetItems", {"TransactItems": [{"Get": {**AT, "Key": KEY}}]}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {**AT, "Item": KEY}}, {"Delete": {**AT, "Key": KEY}}]}),
    ("ExecuteStatement", INSERT),
    ("BatchExecuteStatement", {"Statements": [INSERT, {"Statement": "SELECT * FROM keyfence"}]}),
    ("ExecuteTransaction", {"TransactStatements": [INSERT]}),
    ("DescribeTable", AT),
    ("TagResource", {"ResourceArn": TABLE, "Tags": []}),
    ("GetRecords", {"ShardIterator": f"{STREAM}|1|x"}),
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["PK", "S", "keyfence"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(["S", "N"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def spots(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside a call."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above] * bool(above) + [spot for key, part in inside for spot in spots(part, (*above, key))]


def replaced(call: dict[str, Any], spot: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(call)
    holder: Any = changed
    for key in spot[:-1]:
        holder = holder[key]
    holder[spot[-1]] = value
    return changed


def outcome(operation: str, parameters: Any) -> str:
    """Call every function that reads a request; all of them agree on what is supported."""
    try:
        assert authorizations_for(operation, parameters, PLACE, KEYS)
        assert tables_needed(operation, parameters) <= set(KEYS)
        list(index_keys_written(operation, parameters, KEYS))
    except UnsupportedRequest:
        return "unsupported"
    return "supported"


@pytest.mark.parametrize(("operation", "call"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_the_calls_that_are_mutated_below_are_supported_unchanged(operation: str, call: dict[str, Any]) -> None:
    assert outcome(operation, call) == "supported"


SPOTS = [(operation, call, spot) for operation, call in CALLS for spot in spots(call)]


@given(st.sampled_from(SPOTS), JSON)
def test_a_call_with_anything_at_any_place_is_supported_or_rejected(
    spoiled: tuple[str, dict[str, Any], tuple[Any, ...]], value: Any
) -> None:
    operation, call, spot = spoiled
    assert outcome(operation, replaced(call, spot, value)) in {"supported", "unsupported"}


@given(st.sampled_from(sorted(SUPPORTED_OPERATIONS)), JSON)
def test_any_body_of_any_operation_is_supported_or_rejected(operation: str, body: Any) -> None:
    assert outcome(operation, body) in {"supported", "unsupported"}


@given(st.text(max_size=30) | st.text("PK#:v=()<>ANDORNT,.[]0 '\"?{}*", max_size=30))
def test_any_expression_or_statement_is_supported_or_rejected(text: str) -> None:
    for name in ("KeyConditionExpression", "FilterExpression", "ProjectionExpression"):
        outcome("Query", {**AT, **NAMES, "KeyConditionExpression": "PK = :v", name: text})
    outcome("UpdateItem", {**AT, **NAMES, "Key": KEY, "UpdateExpression": text})
    outcome("ExecuteStatement", {"Statement": f"SELECT * FROM keyfence WHERE {text}"})
    outcome("GetRecords", {"ShardIterator": text})


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "Query", "TransactGetItems"])
def test_an_unknown_parameter_is_unsupported(operation: str) -> None:
    call = next(call for name, call in CALLS if name == operation)
    assert outcome(operation, {**call, "NewFeature": None}) == "unsupported"
