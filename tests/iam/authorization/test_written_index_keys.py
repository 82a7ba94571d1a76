"""`index_keys_written` finds the index partition keys in every kind of write."""

from typing import Any

import pytest

from keyfence_iam.authorization import UnsupportedRequest, index_keys_written
from tests.iam.authorization.sample_table import KEY, SCHEMAS, TABLE_ARN, string_value

ON_TABLE = {"TableName": "keyfence"}
ITEM = {
    **KEY,
    "GSI1PK": string_value("foreign"),
    "country": string_value("NL"),
    "town": string_value("Delft"),
    "email": string_value("e"),
}
KEYS_IN_ITEM = [("GSI1PK", "foreign"), ("country", "NL")]


def written_keys(operation: str, **parameters: Any) -> list[tuple[str, str | None]]:
    return list(index_keys_written(operation, parameters, SCHEMAS))


def updated_keys(expression: str, **placeholders: Any) -> list[tuple[str, str | None]]:
    values = {":v": string_value("foreign"), ":n": {"N": "1"}}
    names = {"#g": "GSI1PK", "#e": "email"}
    call = {"UpdateExpression": expression, "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    keys = written_keys("UpdateItem", **ON_TABLE, Key=KEY, **call, **placeholders)
    assert written_keys("TransactWriteItems", TransactItems=[{"Update": {**ON_TABLE, "Key": KEY, **call}}]) == keys
    return keys


def test_every_form_of_put_yields_the_index_keys_and_nothing_else() -> None:
    assert written_keys("PutItem", **ON_TABLE, Item=ITEM) == KEYS_IN_ITEM
    assert written_keys("PutItem", TableName=TABLE_ARN, Item=ITEM) == KEYS_IN_ITEM
    assert written_keys("BatchWriteItem", RequestItems={"keyfence": [{"PutRequest": {"Item": ITEM}}]}) == KEYS_IN_ITEM
    assert written_keys("TransactWriteItems", TransactItems=[{"Put": {**ON_TABLE, "Item": ITEM}}]) == KEYS_IN_ITEM


def test_a_value_that_is_not_a_string_is_unknown() -> None:
    assert written_keys("PutItem", **ON_TABLE, Item={**KEY, "GSI1PK": {"N": "1"}}) == [("GSI1PK", None)]


@pytest.mark.parametrize(
    "expression", ["SET GSI1PK = :v", "SET #g = :v", "set a = :n, #g = (:v)", "REMOVE x SET #g = :v"]
)
def test_an_update_yields_the_value_that_it_sets(expression: str) -> None:
    assert updated_keys(expression) == [("GSI1PK", "foreign")]


@pytest.mark.parametrize(
    "expression",
    [
        "SET GSI1PK = email",
        "SET #g = if_not_exists(#g, :v)",
        "SET GSI1PK = list_append(:v, :v)",
        "SET GSI1PK = :v + :n",
        "SET GSI1PK.x = :v",
        "SET GSI1PK = :n",
        "ADD GSI1PK :n",
    ],
)
def test_an_update_with_a_computed_value_yields_none(expression: str) -> None:
    assert updated_keys(expression) == [("GSI1PK", None)]


@pytest.mark.parametrize("expression", ["REMOVE GSI1PK", "SET email = :v", "SET a = GSI1PK", "SET a.GSI1PK = :v"])
def test_an_update_that_stores_nothing_in_an_index_key_yields_nothing(expression: str) -> None:
    assert updated_keys(expression) == []


@pytest.mark.parametrize(
    ("change", "stored"),
    [
        ({"Action": "PUT", "Value": string_value("foreign")}, [("GSI1PK", "foreign")]),
        ({"Value": string_value("foreign")}, [("GSI1PK", "foreign")]),
        ({"Action": "ADD", "Value": string_value("foreign")}, [("GSI1PK", None)]),
        ({"Action": "PUT"}, [("GSI1PK", None)]),
        ({"Action": "DELETE"}, []),
    ],
    ids=str,
)
def test_a_legacy_update_yields_the_value_that_it_stores(
    change: dict[str, Any], stored: list[tuple[str, str | None]]
) -> None:
    assert (
        written_keys("UpdateItem", **ON_TABLE, Key=KEY, AttributeUpdates={"GSI1PK": change, "email": change}) == stored
    )


@pytest.mark.parametrize(
    ("statement", "stored"),
    [
        ("INSERT INTO keyfence VALUE {'PK': 'a', 'GSI1PK': ?}", [("GSI1PK", "foreign")]),
        ("INSERT INTO keyfence VALUE {'PK': ?, \"GSI1PK\": 'x'}", [("GSI1PK", "x")]),
        ("INSERT INTO keyfence VALUE {'PK': ?, 'GSI1PK': 7}", [("GSI1PK", None)]),
        ("UPDATE keyfence SET GSI1PK = ? WHERE PK = 'a'", [("GSI1PK", "foreign")]),
        ("UPDATE keyfence SET a = 1 SET \"GSI1PK\" = 'x' WHERE PK = ?", [("GSI1PK", "x")]),
        ("UPDATE keyfence SET GSI1PK = email WHERE PK = ?", [("GSI1PK", None)]),
        ("UPDATE keyfence SET GSI1PK.a = 'x' WHERE PK = ?", [("GSI1PK", None)]),
        ("UPDATE keyfence REMOVE GSI1PK WHERE PK = ?", []),
        ("SELECT GSI1PK FROM keyfence WHERE PK = ?", []),
        ("DELETE FROM keyfence WHERE PK = ? AND GSI1PK = 'x'", []),
    ],
)
def test_a_statement_yields_the_index_keys_that_it_stores(statement: str, stored: list[tuple[str, str | None]]) -> None:
    call = {"Statement": statement, "Parameters": [string_value("foreign")]}
    assert written_keys("ExecuteStatement", **call) == stored
    assert written_keys("BatchExecuteStatement", Statements=[call]) == stored
    assert written_keys("ExecuteTransaction", TransactStatements=[call]) == stored


def test_deletes_checks_and_reads_store_nothing() -> None:
    assert written_keys("DeleteItem", **ON_TABLE, Key=KEY) == []
    assert written_keys("GetItem", **ON_TABLE, Key=KEY) == []
    assert written_keys("BatchWriteItem", RequestItems={"keyfence": [{"DeleteRequest": {"Key": ITEM}}]}) == []
    check = {"ConditionCheck": {**ON_TABLE, "Key": KEY, "ConditionExpression": "GSI1PK = :v"}}
    assert written_keys("TransactWriteItems", TransactItems=[check]) == []


def test_a_write_to_an_unknown_table_is_unsupported() -> None:
    with pytest.raises(UnsupportedRequest):
        written_keys("PutItem", TableName="missing", Item=ITEM)
