"""Any body of a call results in authorization requests or in UnsupportedRequest, and in no other error."""

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
from tests.iam.authorization.sample_table import KEY, SCHEMAS, SCOPE, STREAM_ARN, TABLE_ARN, string_value

NAMES = {"ExpressionAttributeNames": {"#p": "PK"}, "ExpressionAttributeValues": {":v": string_value("x")}}
ON_TABLE = {"TableName": "keyfence"}
EQUALITY = {"PK": {"ComparisonOperator": "EQ", "AttributeValueList": [string_value("x")]}}
INSERT = {"Statement": "INSERT INTO keyfence VALUE {'PK': ?}", "Parameters": [string_value("x")]}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {**ON_TABLE, "Key": KEY, "ProjectionExpression": "a.b[0]", "ReturnConsumedCapacity": "TOTAL"}),
    (
        "Query",
        {**ON_TABLE, **NAMES, "KeyConditionExpression": "#p = :v", "Select": "COUNT", "FilterExpression": "a = :v"},
    ),
    ("Query", {**ON_TABLE, "KeyConditions": EQUALITY, "QueryFilter": EQUALITY, "AttributesToGet": ["a"]}),
    ("Scan", {**ON_TABLE, "IndexName": "GSI1", "ScanFilter": EQUALITY}),
    ("PutItem", {**ON_TABLE, "Item": {**KEY, "GSI1PK": string_value("x")}, "Expected": {"a": {"Exists": False}}}),
    ("UpdateItem", {**ON_TABLE, **NAMES, "Key": KEY, "UpdateExpression": "SET GSI1PK = :v", "ReturnValues": "ALL_OLD"}),
    (
        "UpdateItem",
        {**ON_TABLE, "Key": KEY, "AttributeUpdates": {"GSI1PK": {"Action": "PUT", "Value": string_value("x")}}},
    ),
    ("DeleteItem", {**ON_TABLE, **NAMES, "Key": KEY, "ConditionExpression": "attribute_exists(#p)"}),
    ("BatchGetItem", {"RequestItems": {"keyfence": {"Keys": [KEY], "ProjectionExpression": "a"}}}),
    (
        "BatchWriteItem",
        {"RequestItems": {"keyfence": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}},
    ),
    ("TransactGetItems", {"TransactItems": [{"Get": {**ON_TABLE, "Key": KEY}}]}),
    (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {**ON_TABLE, "Item": KEY}}, {"Delete": {**ON_TABLE, "Key": KEY}}]},
    ),
    ("ExecuteStatement", INSERT),
    ("BatchExecuteStatement", {"Statements": [INSERT, {"Statement": "SELECT * FROM keyfence"}]}),
    ("ExecuteTransaction", {"TransactStatements": [INSERT]}),
    ("DescribeTable", ON_TABLE),
    ("TagResource", {"ResourceArn": TABLE_ARN, "Tags": []}),
    ("GetRecords", {"ShardIterator": f"{STREAM_ARN}|1|x"}),
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


def paths(value: Any, parent: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the path to each value inside of a call, as a tuple of map keys and list positions."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [parent] * bool(parent) + [path for key, child in children for path in paths(child, (*parent, key))]


def replace_at(call: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(call)
    container: Any = changed
    for key in path[:-1]:
        container = container[key]
    container[path[-1]] = value
    return changed


def outcome(operation: str, parameters: Any) -> str:
    """Returns whether the call is supported. Calls every function that parses a call."""
    try:
        assert authorizations_for(operation, parameters, SCOPE, SCHEMAS)
        assert tables_needed(operation, parameters) <= set(SCHEMAS)
        list(index_keys_written(operation, parameters, SCHEMAS))
    except UnsupportedRequest:
        return "unsupported"
    return "supported"


@pytest.mark.parametrize(("operation", "call"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_the_calls_that_are_mutated_below_are_supported_unchanged(operation: str, call: dict[str, Any]) -> None:
    assert outcome(operation, call) == "supported"


CALLS_WITH_PATHS = [(operation, call, path) for operation, call in CALLS for path in paths(call)]


@given(st.sampled_from(CALLS_WITH_PATHS), JSON)
def test_a_call_with_any_value_in_any_place_is_supported_or_rejected(
    call_with_path: tuple[str, dict[str, Any], tuple[Any, ...]], value: Any
) -> None:
    operation, call, path = call_with_path
    assert outcome(operation, replace_at(call, path, value)) in {"supported", "unsupported"}


@given(st.sampled_from(sorted(SUPPORTED_OPERATIONS)), JSON)
def test_any_body_of_any_operation_is_supported_or_rejected(operation: str, body: Any) -> None:
    assert outcome(operation, body) in {"supported", "unsupported"}


@given(st.text(max_size=30) | st.text("PK#:v=()<>ANDORNT,.[]0 '\"?{}*", max_size=30))
def test_any_expression_or_statement_is_supported_or_rejected(text: str) -> None:
    for name in ("KeyConditionExpression", "FilterExpression", "ProjectionExpression"):
        outcome("Query", {**ON_TABLE, **NAMES, "KeyConditionExpression": "PK = :v", name: text})
    outcome("UpdateItem", {**ON_TABLE, **NAMES, "Key": KEY, "UpdateExpression": text})
    outcome("ExecuteStatement", {"Statement": f"SELECT * FROM keyfence WHERE {text}"})
    outcome("GetRecords", {"ShardIterator": text})


@pytest.mark.parametrize("operation", ["GetItem", "PutItem", "Query", "TransactGetItems"])
def test_an_unknown_parameter_is_unsupported(operation: str) -> None:
    call = next(call for name, call in CALLS if name == operation)
    assert outcome(operation, {**call, "NewFeature": None}) == "unsupported"
