"""Every way to write a partition key of an index is found."""

from typing import Any

import pytest

from keyfence_iam.authorization import UnsupportedRequest, index_keys_written
from tests.iam.authorization.sample_table import KEY, KEYS, TABLE, s

AT = {"TableName": "keyfence"}
ITEM = {**KEY, "GSI1PK": s("foreign"), "country": s("NL"), "town": s("Delft"), "email": s("e")}
PUT = [("GSI1PK", "foreign"), ("country", "NL")]


def written(operation: str, **parameters: Any) -> list[tuple[str, str | None]]:
    return list(index_keys_written(operation, parameters, KEYS))


def updated(expression: str, **placeholders: Any) -> list[tuple[str, str | None]]:
    values = {":v": s("foreign"), ":n": {"N": "1"}}
    names = {"#g": "GSI1PK", "#e": "email"}
    call = {"UpdateExpression": expression, "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    found = written("UpdateItem", **AT, Key=KEY, **call, **placeholders)
    assert written("TransactWriteItems", TransactItems=[{"Update": {**AT, "Key": KEY, **call}}]) == found
    return found


def test_every_form_of_put_yields_the_index_keys_and_nothing_else() -> None:
    assert written("PutItem", **AT, Item=ITEM) == PUT
    assert written("PutItem", TableName=TABLE, Item=ITEM) == PUT
    assert written("BatchWriteItem", RequestItems={"keyfence": [{"PutRequest": {"Item": ITEM}}]}) == PUT
    assert written("TransactWriteItems", TransactItems=[{"Put": {**AT, "Item": ITEM}}]) == PUT


def test_a_value_that_is_not_a_string_is_unknown() -> None:
    assert written("PutItem", **AT, Item={**KEY, "GSI1PK": {"N": "1"}}) == [("GSI1PK", None)]


@pytest.mark.parametrize(
    "expression", ["SET GSI1PK = :v", "SET #g = :v", "set a = :n, #g = (:v)", "REMOVE x SET #g = :v"]
)
def test_an_update_yields_the_value_that_it_sets(expression: str) -> None:
    assert updated(expression) == [("GSI1PK", "foreign")]


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
    assert updated(expression) == [("GSI1PK", None)]


@pytest.mark.parametrize("expression", ["REMOVE GSI1PK", "SET email = :v", "SET a = GSI1PK", "SET a.GSI1PK = :v"])
def test_an_update_that_stores_nothing_in_an_index_key_yields_nothing(expression: str) -> None:
    assert updated(expression) == []


@pytest.mark.parametrize(
    ("change", "stored"),
    [
        ({"Action": "PUT", "Value": s("foreign")}, [("GSI1PK", "foreign")]),
        ({"Value": s("foreign")}, [("GSI1PK", "foreign")]),
        ({"Action": "ADD", "Value": s("foreign")}, [("GSI1PK", None)]),
        ({"Action": "PUT"}, [("GSI1PK", None)]),
        ({"Action": "DELETE"}, []),
    ],
    ids=str,
)
def test_legacy_updates_are_read_too(change: dict[str, Any], stored: list[tuple[str, str | None]]) -> None:
    assert written("UpdateItem", **AT, Key=KEY, AttributeUpdates={"GSI1PK": change, "email": change}) == stored


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
def test_statements_yield_what_they_store(statement: str, stored: list[tuple[str, str | None]]) -> None:
    call = {"Statement": statement, "Parameters": [s("foreign")]}
    assert written("ExecuteStatement", **call) == stored
    assert written("BatchExecuteStatement", Statements=[call]) == stored
    assert written("ExecuteTransaction", TransactStatements=[call]) == stored


def test_deletes_checks_and_reads_store_nothing() -> None:
    assert written("DeleteItem", **AT, Key=KEY) == []
    assert written("GetItem", **AT, Key=KEY) == []
    assert written("BatchWriteItem", RequestItems={"keyfence": [{"DeleteRequest": {"Key": ITEM}}]}) == []
    check = {"ConditionCheck": {**AT, "Key": KEY, "ConditionExpression": "GSI1PK = :v"}}
    assert written("TransactWriteItems", TransactItems=[check]) == []


def test_a_write_to_an_unknown_table_is_unsupported() -> None:
    with pytest.raises(UnsupportedRequest):
        written("PutItem", TableName="missing", Item=ITEM)
