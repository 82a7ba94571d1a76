"""The leading key of a Query is found in every notation of its key condition, or the call is unsupported."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import authorization, leading_keys, string_value

NAMES = {"#p": "PK", "#q": "PK", "#s": "SK"}
VALUES = {
    ":v": string_value("own"),
    ":w": string_value("foreign"),
    ":n": {"N": "1"},
    ":e": string_value(""),
    ":l": string_value("\ud800"),
    ":x": string_value("x"),
    ":y": string_value("y"),
}


def query_keys(condition: str, **parameters: Any) -> object:
    names = {"ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": VALUES}
    return leading_keys(authorization("Query", KeyConditionExpression=condition, **{**names, **parameters}))


@pytest.mark.parametrize(
    "condition",
    [
        "PK = :v",
        "#p = :v",
        ":v = PK",
        "PK=:v",
        "(PK = :v)",
        "((PK = :v))",
        "(PK) = (:v)",
        "PK = :v AND SK = :x",
        "PK = :v and SK = :x",
        "SK = :x AND PK = :v",
        "(SK = :x) AND (PK = :v)",
        "(PK = :v AND SK = :x)",
        "PK = :v AND SK BETWEEN :x AND :y",
        "SK between :x And :y aNd PK = :v",
        "(SK BETWEEN :x AND :y) AND PK = :v",
        "begins_with(SK, :x) AND #p = :v",
        "begins_with ( #s , :x ) AND #p = :v",
        "\tPK\n=\r:v\n AND SK>=:x",
        "SK < :x AND PK = :v",
        "PK = :v AND :x < SK",
    ],
)
def test_the_leading_key_of_a_query_is_the_partition_in_its_key_condition(condition: str) -> None:
    assert query_keys(condition) == ("own",)


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "SK = :v",
        "PK = :v OR PK = :w",
        "PK = :v OR SK = :x",
        "NOT PK = :v",
        "NOT (PK = :v)",
        "PK = :v AND PK = :w",
        "PK = :v AND #q = :w",
        "#p = :v AND #q = :v",
        "PK = :v AND begins_with(PK, :w)",
        "PK = :v AND NOT SK = :x",
        "PK = :v AND (SK = :x OR SK = :y)",
        "PK = :v AND SK IN (:x, :y)",
        "PK = :v AND SK <> :x",
        "PK = :v AND SK = email",
        "PK = :v AND SK.x = :x",
        "PK = :v AND contains(SK, :x)",
        "PK = :v AND size(SK) = :x",
        "PK = :v AND :x = :y",
        "PK <> :v",
        "PK < :v",
        "PK >= :v",
        "PK BETWEEN :v AND :w",
        "PK IN (:v)",
        "begins_with(PK, :v)",
        "PK.x = :v",
        "PK[0] = :v",
        "#p.#s = :v",
        "PK = SK",
        "PK = PK",
        ":v = :v",
        "PK = :v = :v",
        "PK = :absent",
        "#absent = :v",
        "PK = 'own'",
        'PK = "own"',
        "PK = 7",
        "PK = own",
        "PK = :n",
        "PK = :e",
        "PK = :l",
        "PK = :v AND",
        "AND PK = :v",
        "PK = :v SK = :x",
        "(PK = :v",
        "PK = :v)",
        "PK == :v",
        "PK = :v; PK = :w",
        "PK = :v -- AND",
        "PK = :v\fAND SK = :x",
        "PK\u00a0= :v",
        "PK = size(:v)",
        "PK = :v + :w",
        "pk = :v",
        "evil(PK, :v)",
        "(" * 5000 + "PK = :v" + ")" * 5000,
        "(" * 500 + "PK = :v" + ")" * 500,
        "PK = :v" + " " * 5000,
    ],
)
def test_a_partition_that_is_not_certain_is_unsupported(condition: str) -> None:
    with pytest.raises(UnsupportedRequest):
        query_keys(condition)


def legacy_query_keys(**conditions: Any) -> object:
    return leading_keys(authorization("Query", KeyConditions=conditions))


EQUALITY = {"ComparisonOperator": "EQ", "AttributeValueList": [string_value("own")]}


def test_legacy_key_conditions_give_the_leading_key_too() -> None:
    begins = {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [string_value("x")]}
    assert legacy_query_keys(SK=begins, PK=EQUALITY) == ("own",)


@pytest.mark.parametrize(
    "condition",
    [
        {**EQUALITY, "ComparisonOperator": "BEGINS_WITH"},
        {**EQUALITY, "ComparisonOperator": "eq"},
        {**EQUALITY, "AttributeValueList": []},
        {**EQUALITY, "AttributeValueList": [string_value("own"), string_value("foreign")]},
        {**EQUALITY, "AttributeValueList": [{"N": "1"}]},
        {**EQUALITY, "AttributeValueList": string_value("own")},
        {"AttributeValueList": [string_value("own")]},
        {},
        None,
        [],
    ],
    ids=str,
)
def test_a_legacy_key_condition_that_is_not_one_equality_is_unsupported(condition: object) -> None:
    with pytest.raises(UnsupportedRequest):
        legacy_query_keys(PK=condition)


def test_a_query_without_a_key_condition_is_unsupported() -> None:
    with pytest.raises(UnsupportedRequest):
        authorization("Query")
    with pytest.raises(UnsupportedRequest):
        authorization("Query", KeyConditions={})


@pytest.mark.parametrize(
    "legacy_parameter",
    [{"KeyConditions": {"PK": EQUALITY}}, {"KeyConditions": {}}, {"QueryFilter": {}}, {"AttributesToGet": ["x"]}],
    ids=str,
)
def test_a_legacy_parameter_together_with_an_expression_is_unsupported(legacy_parameter: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest, match="exclude each other"):
        query_keys("PK = :v", **legacy_parameter)


@pytest.mark.parametrize(
    "placeholders",
    [
        {"ExpressionAttributeNames": {"SK": "PK", "#p": "PK"}},
        {"ExpressionAttributeValues": {"v": string_value("foreign"), ":v": string_value("own")}},
        {"ExpressionAttributeNames": {"#p": 7}},
        {"ExpressionAttributeNames": ["#p"]},
        {"ExpressionAttributeValues": {":v": "own"}},
        {"ExpressionAttributeValues": {":v": {"S": "own", "N": "1"}}},
        {"ExpressionAttributeValues": {":v": {"S": ["own"]}}},
    ],
    ids=str,
)
def test_placeholders_that_an_engine_could_read_differently_are_unsupported(placeholders: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        query_keys("#p = :v", **placeholders)


WHITE_SPACE = st.text(" \t\r\n", max_size=2)
AND_IN_ANY_CASE = st.sampled_from(["AND", "and", "And"])
SORT = st.sampled_from(["SK = :x", "#s <= :x", ":x > SK", "SK BETWEEN :x AND :y", "begins_with(SK,:x)"])
PARTITION = st.sampled_from(["PK = :v", "#p=:v", ":v = #p", "(PK)=:v", "PK=(:v)"])


@given(
    PARTITION,
    st.none() | SORT,
    st.booleans(),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    AND_IN_ANY_CASE,
    WHITE_SPACE,
)
def test_every_legal_spelling_gives_the_same_partition(
    partition: str, sort: str | None, is_swapped: bool, parentheses: tuple[bool, bool, bool], word: str, blank: str
) -> None:
    def parenthesize(text: str, needed: bool) -> str:
        return f"({blank}{text}{blank})" if needed else text

    parts = [parenthesize(partition, parentheses[0])] + ([parenthesize(sort, parentheses[1])] if sort else [])
    condition = f"{blank} {word} {blank}".join(parts[::-1] if is_swapped else parts)
    assert query_keys(parenthesize(condition, parentheses[2])) == ("own",)


TOKENS = [
    "PK",
    "SK",
    "#p",
    "#s",
    ":v",
    ":w",
    "=",
    "<",
    "AND",
    "OR",
    "NOT",
    "BETWEEN",
    "IN",
    "(",
    ")",
    ",",
    ".",
    "[",
    "0",
    "]",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=12).map(" ".join))
def test_no_sequence_of_tokens_makes_another_partition_look_like_the_callers_own(condition: str) -> None:
    """Every supported condition compares the partition key with exactly one value, which is its leading key."""
    try:
        keys = query_keys(condition)
    except UnsupportedRequest:
        return
    assert keys in {("own",), ("foreign",)}
    assert " OR " not in condition
    assert condition.count("PK") + condition.count("#p") == 1
    assert (":v" in condition) if keys == ("own",) else (":w" in condition)
