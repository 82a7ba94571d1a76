"""Authorization requests of PartiQL statements."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keyfence_iam.authorization import UnsupportedRequest
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue
from keyfence_iam.dynamodb.expressions.partiql_parser import parse_statement, possible_values
from keyfence_iam.evaluator.request import AuthorizationRequest
from tests.iam.authorization.sample_table import OTHER, TABLE, asked, attributes, leading, of, s


def execute(text: str, *parameters: Any) -> AuthorizationRequest:
    (only,) = asked("ExecuteStatement", Statement=text, **({"Parameters": list(parameters)} if parameters else {}))
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
def test_a_select_has_the_partitions_it_cannot_leave_as_leading_keys(where: str, partition: tuple[str, ...]) -> None:
    select = execute(f'SELECT * FROM "keyfence" WHERE {where}')
    assert (select.action, select.resource, leading(select)) == ("dynamodb:PartiQLSelect", TABLE, partition)
    assert of(select, "FullTableScan") == "false"
    assert of(select, "ReturnConsumedCapacity") is of(select, "ReturnValues") is None


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
def test_a_select_that_can_leave_a_partition_is_a_full_scan_without_leading_keys(where: str) -> None:
    select = execute(f"SELECT * FROM keyfence {where}")
    assert (leading(select), of(select, "FullTableScan")) == (None, "true")


def test_parameters_replace_literals_in_order() -> None:
    select = execute(
        "SELECT * FROM keyfence WHERE x = '?' AND SK = ? AND PK IN [?, 'b', ?]", {"N": "1"}, s("a"), s("c")
    )
    assert leading(select) == ("a", "b", "c")


@pytest.mark.parametrize("parameters", [(), (s("a"), s("b")), ({"N": "1"},), ({"S": "a", "N": "1"},), ("a",), (s(""),)])
def test_parameters_that_do_not_fit_are_unsupported(parameters: tuple[Any, ...]) -> None:
    with pytest.raises(UnsupportedRequest):
        execute("SELECT * FROM keyfence WHERE PK = ?", *parameters)


def test_a_select_of_an_index_is_authorized_for_the_index_and_its_partition() -> None:
    select = execute('SELECT email FROM "keyfence"."GSI1" WHERE GSI1PK = \'e\' ORDER BY GSI1SK DESC')
    assert (select.resource, leading(select)) == (f"{TABLE}/index/GSI1", ("e",))
    assert attributes(select) == {"email", "GSI1PK", "GSI1SK"}
    assert of(select, "Select") == "SPECIFIC_ATTRIBUTES"


def test_select_star_of_an_index_selects_all_projected_attributes() -> None:
    assert of(execute("SELECT * FROM keyfence.GSI1"), "Select") == "ALL_PROJECTED_ATTRIBUTES"
    assert of(execute("SELECT * FROM keyfence"), "Select") == "ALL_ATTRIBUTES"


def test_a_select_with_a_part_of_the_partition_key_is_a_full_scan() -> None:
    half = execute("SELECT * FROM keyfence.TOWNS WHERE country = 'NL'")
    whole = execute("SELECT * FROM keyfence.TOWNS WHERE country = 'NL' AND town = 'Delft'")
    assert (leading(half), of(half, "FullTableScan")) == (None, "true")
    assert (leading(whole), of(whole, "SecondPartitionKeyValues")) == (("NL",), ("Delft",))


def test_an_insert_is_authorized_for_the_partition_of_its_item() -> None:
    insert = execute("INSERT INTO \"keyfence\" VALUE {'PK': ?, 'SK': 'x', 'm': {'n': [1, <<'q'>>, null, -2]}}", s("a"))
    assert (insert.action, leading(insert)) == ("dynamodb:PartiQLInsert", ("a",))
    assert attributes(insert) == {"PK", "SK", "m"}
    assert of(insert, "ReturnValues") is None


def test_an_update_is_authorized_for_what_it_changes_reads_and_returns() -> None:
    update = execute(
        "UPDATE keyfence SET a.b = list_append(c, ['x']) SET d = e + 1, f = ? REMOVE g[0] "
        "WHERE PK = 'a' AND SK = 'x' RETURNING MODIFIED NEW *",
        s("w"),
    )
    assert (update.action, leading(update)) == ("dynamodb:PartiQLUpdate", ("a",))
    assert attributes(update) == {"a", "c", "d", "e", "f", "g", "PK", "SK"}
    assert of(update, "ReturnValues") == "UPDATED_NEW"


def test_a_delete_is_authorized_for_its_partition_and_what_it_returns() -> None:
    delete = execute("delete from keyfence where PK = 'a' and SK = 'x'")
    assert (delete.action, leading(delete), of(delete, "ReturnValues")) == ("dynamodb:PartiQLDelete", ("a",), "NONE")
    returning = execute("DELETE FROM keyfence WHERE PK = 'a' AND SK = 'x' RETURNING ALL OLD *")
    assert of(returning, "ReturnValues") == "ALL_OLD"


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
def test_a_statement_that_is_not_certain_is_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedRequest):
        execute(text)


def test_a_batch_of_statements_is_authorized_once_per_verb_and_table_for_all_partitions() -> None:
    texts = [
        "SELECT email FROM keyfence WHERE PK = 'a'",
        "SELECT * FROM keyfence WHERE PK = 'b'",
        "DELETE FROM keyfence WHERE PK = 'c'",
        "DELETE FROM other WHERE id = 'd' RETURNING ALL OLD *",
    ]
    found = asked("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts])
    assert [(one.action, one.resource, leading(one)) for one in found] == [
        ("dynamodb:PartiQLSelect", TABLE, ("a", "b")),
        ("dynamodb:PartiQLDelete", TABLE, ("c",)),
        ("dynamodb:PartiQLDelete", OTHER, ("d",)),
    ]
    assert [of(one, "Select") or of(one, "ReturnValues") for one in found] == ["ALL_ATTRIBUTES", "NONE", "ALL_OLD"]
    assert {of(one, "EnclosingOperation") for one in found} == {None}


def test_a_scan_does_not_get_the_leading_keys_of_another_statement() -> None:
    texts = ["SELECT * FROM keyfence WHERE PK = 'own'", "SELECT * FROM keyfence"]
    found = asked("BatchExecuteStatement", Statements=[{"Statement": text} for text in texts])
    assert [(leading(one), of(one, "FullTableScan")) for one in found] == [(("own",), "false"), (None, "true")]


def test_statements_in_a_transaction_have_the_enclosing_operation() -> None:
    statements = [{"Statement": "DELETE FROM keyfence WHERE PK = ?", "Parameters": [s("a")]}]
    (delete,) = asked("ExecuteTransaction", TransactStatements=statements)
    assert (leading(delete), of(delete, "EnclosingOperation")) == (("a",), "ExecuteTransaction")
    with pytest.raises(UnsupportedRequest):
        asked("ExecuteTransaction", TransactStatements=[])


Tree = tuple[Any, ...]
LEAVES = st.tuples(st.sampled_from(["=", "<>"]), st.sampled_from(["PK", "SK"]), st.sampled_from("ab"))
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(["AND", "OR"]), inner, inner) | st.tuples(st.just("NOT"), inner)
)


def written(tree: Tree) -> str:
    match tree:
        case ("AND" | "OR") as word, one, other:
            return f"({written(one)} {word} {written(other)})"
        case "NOT", one:
            return f"NOT ({written(one)})"
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
    assume(holds(tree, {"PK": partition, "SK": sort}) and len(written(tree)) < 1000)
    reported = possible_values(parse_statement(f"SELECT * FROM keyfence WHERE {written(tree)}").where, "PK")
    assert reported is None or LiteralValue(partition) in reported
