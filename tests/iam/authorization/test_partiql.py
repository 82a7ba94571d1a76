"""Authorization requests of PartiQL statements."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keyfence_iam.authorization import UnsupportedRequest
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue
from keyfence_iam.dynamodb.expressions.partiql_parser import parse_statement, possible_values
from keyfence_iam.evaluator.request import AuthorizationRequest
from tests.iam.authorization.sample_table import (
    OTHER_TABLE_ARN,
    TABLE_ARN,
    authorizations,
    context_value,
    leading_keys,
    mentioned_attributes,
    string_value,
)


def statement_request(text: str, *parameters: Any) -> AuthorizationRequest:
    (only,) = authorizations(
        "ExecuteStatement", Statement=text, **({"Parameters": list(parameters)} if parameters else {})
    )
    return only


@pytest.mark.parametrize(
    ("where", "partition"),
    [
        ("PK = 'a'", ("a",)),
        ("\"PK\" = 'a' AND SK = 'x'", ("a",)),
        ("'a' = PK", ("a",)),
        ("PK = 'it''s'", ("it's",)),
        ("PK = 'a' or PK = 'b'", ("a", "b")),
        ("PK IN ['a', 'b']", ("a", "b")),
        ("PK in ('a')", ("a",)),
        ("(PK = 'a' OR PK = 'b') AND BEGINS_WITH(SK, 'x')", ("a", "b")),
        ("SK = 'x' AND (SK = 'y' OR SK = 'z') AND PK = 'a'", ("a",)),
        ("PK = 'a' AND PK = 'b'", ("a", "b")),
        ("PK = 'a' AND x IS NOT MISSING AND y BETWEEN 1 AND -2.5e3", ("a",)),
    ],
)
def test_the_leading_keys_of_a_select_are_all_partitions_that_it_can_read(
    where: str, partition: tuple[str, ...]
) -> None:
    select = statement_request(f'SELECT * FROM "keyfence" WHERE {where}')
    assert (select.action, select.resource, leading_keys(select)) == ("dynamodb:PartiQLSelect", TABLE_ARN, partition)
    assert context_value(select, "FullTableScan") == "false"
    assert context_value(select, "ReturnConsumedCapacity") is context_value(select, "ReturnValues") is None


@pytest.mark.parametrize(
    "where",
    [
        "",
        "WHERE SK = 'a'",
        "WHERE PK > 'a'",
        "WHERE PK <> 'a'",
        "WHERE PK BETWEEN 'a' AND 'b'",
        "WHERE begins_with(PK, 'a')",
        "WHERE NOT PK = 'a'",
        "WHERE PK = 'a' OR SK = 'x'",
        "WHERE PK = 'a' AND SK = 'x' OR SK = 'y'",
        "WHERE PK = SK",
        "WHERE PK.x = 'a'",
        "WHERE pk = 'a'",
        "WHERE size(PK) = 1",
        "WHERE PK = ['a']",
        "WHERE PK IN ['a', SK]",
        "ORDER BY PK",
    ],
)
def test_a_select_that_can_read_any_partition_is_a_full_scan_without_leading_keys(where: str) -> None:
    select = statement_request(f"SELECT * FROM keyfence {where}")
    assert (leading_keys(select), context_value(select, "FullTableScan")) == (None, "true")


def test_parameters_replace_literals_in_order() -> None:
    select = statement_request(
        "SELECT * FROM keyfence WHERE x = '?' AND SK = ? AND PK IN [?, 'b', ?]",
        {"N": "1"},
        string_value("a"),
        string_value("c"),
    )
    assert leading_keys(select) == ("a", "b", "c")


@pytest.mark.parametrize(
    "parameters",
    [(), (string_value("a"), string_value("b")), ({"N": "1"},), ({"S": "a", "N": "1"},), ("a",), (string_value(""),)],
)
def test_parameters_of_a_wrong_number_or_type_are_unsupported(parameters: tuple[Any, ...]) -> None:
    with pytest.raises(UnsupportedRequest):
        statement_request("SELECT * FROM keyfence WHERE PK = ?", *parameters)


def test_a_select_of_an_index_is_authorized_for_the_index_and_its_partition() -> None:
    select = statement_request('SELECT email FROM "keyfence"."GSI1" WHERE GSI1PK = \'e\' ORDER BY GSI1SK DESC')
    assert (select.resource, leading_keys(select)) == (f"{TABLE_ARN}/index/GSI1", ("e",))
    assert mentioned_attributes(select) == {"email", "GSI1PK", "GSI1SK"}
    assert context_value(select, "Select") == "SPECIFIC_ATTRIBUTES"


def test_select_star_of_an_index_selects_all_projected_attributes() -> None:
    assert context_value(statement_request("SELECT * FROM keyfence.GSI1"), "Select") == "ALL_PROJECTED_ATTRIBUTES"
    assert context_value(statement_request("SELECT * FROM keyfence"), "Select") == "ALL_ATTRIBUTES"


def test_a_select_with_a_part_of_the_partition_key_is_a_full_scan() -> None:
    half = statement_request("SELECT * FROM keyfence.TOWNS WHERE country = 'NL'")
    whole = statement_request("SELECT * FROM keyfence.TOWNS WHERE country = 'NL' AND town = 'Delft'")
    assert (leading_keys(half), context_value(half, "FullTableScan")) == (None, "true")
    assert (leading_keys(whole), context_value(whole, "SecondPartitionKeyValues")) == (("NL",), ("Delft",))


def test_an_insert_is_authorized_for_the_partition_of_its_item() -> None:
    insert = statement_request(
        "INSERT INTO \"keyfence\" VALUE {'PK': ?, 'SK': 'x', 'm': {'n': [1, <<'q'>>, null, -2]}}", string_value("a")
    )
    assert (insert.action, leading_keys(insert)) == ("dynamodb:PartiQLInsert", ("a",))
    assert mentioned_attributes(insert) == {"PK", "SK", "m"}
    assert context_value(insert, "ReturnValues") is None


def test_an_update_is_authorized_for_what_it_changes_reads_and_returns() -> None:
    update = statement_request(
        "UPDATE keyfence SET a.b = list_append(c, ['x']) SET d = e + 1, f = ? REMOVE g[0] "
        "WHERE PK = 'a' AND SK = 'x' RETURNING MODIFIED NEW *",
        string_value("w"),
    )
    assert (update.action, leading_keys(update)) == ("dynamodb:PartiQLUpdate", ("a",))
    assert mentioned_attributes(update) == {"a", "c", "d", "e", "f", "g", "PK", "SK"}
    assert context_value(update, "ReturnValues") == "UPDATED_NEW"


def test_a_delete_is_authorized_for_its_partition_and_what_it_returns() -> None:
    delete = statement_request("delete from keyfence where PK = 'a' and SK = 'x'")
    assert (delete.action, leading_keys(delete), context_value(delete, "ReturnValues")) == (
        "dynamodb:PartiQLDelete",
        ("a",),
        "NONE",
    )
    returning = statement_request("DELETE FROM keyfence WHERE PK = 'a' AND SK = 'x' RETURNING ALL OLD *")
    assert context_value(returning, "ReturnValues") == "ALL_OLD"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT",
        "SELECT *",
        "DROP TABLE keyfence",
        "EXISTS(SELECT * FROM keyfence WHERE PK = 'a')",
        "SELECT * FROM keyfence;",
        "SELECT * FROM keyfence k WHERE k.PK = 'a'",
        "SELECT * FROM keyfence AS k",
        "SELECT * FROM keyfence, other",
        "SELECT * FROM keyfence WHERE PK = 'a' -- AND SK = 'x'",
        "SELECT * FROM keyfence WHERE x = 1 --1 AND PK = 'a'",
        "SELECT * FROM keyfence WHERE PK = 'a' /* */",
        "SELECT * FROM keyfence WHERE PK = 'a' LIMIT 1",
        "SELECT * FROM keyfence WHERE PK = 'a",
        "SELECT * FROM keyfence WHERE PK = `a`",
        "SELECT * FROM keyfence WHERE PK = 7",
        "SELECT * FROM keyfence WHERE PK = ''",
        "SELECT * FROM 'keyfence' WHERE PK = 'a'",
        "SELECT * FROM \"keyfence/index/GSI1\" WHERE PK = 'a'",
        "SELECT * FROM keyfence.GSI9 WHERE PK = 'a'",
        "SELECT count(*) FROM keyfence",
        "INSERT INTO keyfence VALUE {}",
        "INSERT INTO keyfence VALUE {'SK': 'x'}",
        "INSERT INTO keyfence VALUE {'PK': 'a', 'PK': 'b'}",
        "INSERT INTO keyfence VALUE {'PK': 'a', \"PK\": 'b'}",
        "INSERT INTO keyfence VALUE {'PK': 'a', 'GSI1PK': 'b', 'GSI1PK': 'c'}",
        "INSERT INTO keyfence VALUE {'PK': 7}",
        "INSERT INTO keyfence VALUE {'PK': 'a'} WHERE PK = 'b'",
        "INSERT INTO keyfence VALUE ?",
        "INSERT INTO keyfence.GSI1 VALUE {'PK': 'a'}",
        "UPDATE keyfence SET x = 1",
        "UPDATE keyfence SET x = 1 WHERE SK = 'x'",
        "UPDATE keyfence SET x = 1 WHERE PK = 'a' OR PK = 'b'",
        "UPDATE keyfence SET x = 1 WHERE PK IN ['a', 'b']",
        "UPDATE keyfence SET x = 1 WHERE PK IN ['a']",
        "UPDATE keyfence SET x = 1 WHERE PK = 'a' AND begins_with(PK, 'a')",
        "UPDATE keyfence SET PK = 'b' WHERE PK = 'a'",
        "UPDATE keyfence SET x = 1 REMOVE PK WHERE PK = 'a'",
        "DELETE FROM keyfence WHERE PK IN ['a']",
        "UPDATE keyfence SET x = 1 WHERE PK = 'a' AND PK = 'b'",
        "UPDATE keyfence WHERE PK = 'a'",
        "UPDATE keyfence SET x = 1 WHERE PK = 'a' RETURNING EVERYTHING",
        "DELETE FROM keyfence",
        "DELETE FROM keyfence WHERE PK > 'a'",
        "SELECT * FROM keyfence WHERE " + "(" * 3000 + "PK = 'a'" + ")" * 3000,
        "INSERT INTO keyfence VALUE {'PK': 'a', 'l': " + "[" * 3000 + "]" * 3000 + "}",
        "SELECT * FROM keyfence WHERE PK = '" + "a" * 9000 + "'",
    ],
)
def test_a_statement_that_cannot_be_parsed_or_has_no_certain_partition_is_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedRequest):
        statement_request(text)


def test_a_batch_of_statements_is_authorized_once_per_verb_and_table_for_all_partitions() -> None:
    texts = [
        "SELECT email FROM keyfence WHERE PK = 'a'",
        "SELECT * FROM keyfence WHERE PK = 'b'",
        "DELETE FROM keyfence WHERE PK = 'c'",
        "DELETE FROM other WHERE id = 'd' RETURNING ALL OLD *",
    ]
    requests = authorizations("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts])
    assert [(one.action, one.resource, leading_keys(one)) for one in requests] == [
        ("dynamodb:PartiQLSelect", TABLE_ARN, ("a", "b")),
        ("dynamodb:PartiQLDelete", TABLE_ARN, ("c",)),
        ("dynamodb:PartiQLDelete", OTHER_TABLE_ARN, ("d",)),
    ]
    assert [context_value(one, "Select") or context_value(one, "ReturnValues") for one in requests] == [
        "ALL_ATTRIBUTES",
        "NONE",
        "ALL_OLD",
    ]
    assert {context_value(one, "EnclosingOperation") for one in requests} == {None}


def test_a_scan_does_not_get_the_leading_keys_of_another_statement() -> None:
    texts = ["SELECT * FROM keyfence WHERE PK = 'own'", "SELECT * FROM keyfence"]
    requests = authorizations("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts])
    assert [(leading_keys(one), context_value(one, "FullTableScan")) for one in requests] == [
        (("own",), "false"),
        (None, "true"),
    ]


def test_statements_in_a_transaction_have_the_enclosing_operation() -> None:
    statements = [{"Statement": "DELETE FROM keyfence WHERE PK = ?", "Parameters": [string_value("a")]}]
    (delete,) = authorizations("ExecuteTransaction", TransactStatements=statements)
    assert (leading_keys(delete), context_value(delete, "EnclosingOperation")) == (("a",), "ExecuteTransaction")
    with pytest.raises(UnsupportedRequest):
        authorizations("ExecuteTransaction", TransactStatements=[])


Tree = tuple[Any, ...]
LEAVES = st.tuples(st.sampled_from(["=", "<>"]), st.sampled_from(["PK", "SK"]), st.sampled_from("ab"))
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(["AND", "OR"]), inner, inner) | st.tuples(st.just("NOT"), inner)
)


def where_clause(tree: Tree) -> str:
    match tree:
        case ("AND" | "OR") as word, one, other:
            return f"({where_clause(one)} {word} {where_clause(other)})"
        case "NOT", one:
            return f"NOT ({where_clause(one)})"
        case operator, name, value:
            return f"{name} {operator} '{value}'"
    raise AssertionError(tree)


def holds(tree: Tree, item: dict[str, str]) -> bool:
    match tree:
        case "AND", one, other:
            return holds(one, item) and holds(other, item)
        case "OR", one, other:
            return holds(one, item) or holds(other, item)
        case "NOT", one:
            return not holds(one, item)
        case operator, name, value:
            return (operator == "=") is (item[name] == value)
    raise AssertionError(tree)


@given(TREES, st.sampled_from("abc"), st.sampled_from("abc"))
def test_no_item_outside_the_reported_partitions_satisfies_the_clause(tree: Tree, partition: str, sort: str) -> None:
    assume(holds(tree, {"PK": partition, "SK": sort}) and len(where_clause(tree)) < 1000)
    reported = possible_values(parse_statement(f"SELECT * FROM keyfence WHERE {where_clause(tree)}").where, "PK")
    assert reported is None or LiteralValue(partition) in reported
