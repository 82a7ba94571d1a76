"""The partition of a Query is found in every notation, or the call is unsupported."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.authorization import UnsupportedRequest
from tests.iam.authorization.sample_table import leading, one, s

NAMES = {"#p": "PK", "#q": "PK", "#s": "SK"}
VALUES = {
    ":v": s("own"),
    ":w": s("foreign"),
    ":n": {"N": "1"},
    ":e": s(""),
    ":l": s("\ud800"),
    ":x": s("x"),
    ":y": s("y"),
}


def ask(condition: str, **more: Any) -> object:
    names = {"ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": VALUES}
    return leading(one("Query", KeyConditionExpression=condition, **{**names, **more}))


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
def test_the_partition_is_found(condition: str) -> None:
    assert ask(condition) == ("own",)


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
        ask(condition)


def legacy(**conditions: Any) -> object:
    return leading(one("Query", KeyConditions=conditions))


EQ = {"ComparisonOperator": "EQ", "AttributeValueList": [s("own")]}


def test_legacy_key_conditions_are_read_too() -> None:
    begins = {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [s("x")]}
    assert legacy(SK=begins, PK=EQ) == ("own",)


@pytest.mark.parametrize(
    "compared",
    [
        {**EQ, "ComparisonOperator": "BEGINS_WITH"},
        {**EQ, "ComparisonOperator": "eq"},
        {**EQ, "AttributeValueList": []},
        {**EQ, "AttributeValueList": [s("own"), s("foreign")]},
        {**EQ, "AttributeValueList": [{"N": "1"}]},
        {**EQ, "AttributeValueList": s("own")},
        {"AttributeValueList": [s("own")]},
        {},
        None,
        [],
    ],
    ids=str,
)
def test_a_legacy_key_condition_that_is_not_one_equality_is_unsupported(compared: object) -> None:
    with pytest.raises(UnsupportedRequest):
        legacy(PK=compared)


def test_a_query_without_a_key_condition_is_unsupported() -> None:
    with pytest.raises(UnsupportedRequest):
        one("Query")
    with pytest.raises(UnsupportedRequest):
        one("Query", KeyConditions={})


@pytest.mark.parametrize(
    "older",
    [{"KeyConditions": {"PK": EQ}}, {"KeyConditions": {}}, {"QueryFilter": {}}, {"AttributesToGet": ["x"]}],
    ids=str,
)
def test_a_legacy_parameter_together_with_an_expression_is_unsupported(older: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest, match="exclude each other"):
        ask("PK = :v", **older)


@pytest.mark.parametrize(
    "placeholders",
    [
        {"ExpressionAttributeNames": {"SK": "PK", "#p": "PK"}},
        {"ExpressionAttributeValues": {"v": s("foreign"), ":v": s("own")}},
        {"ExpressionAttributeNames": {"#p": 7}},
        {"ExpressionAttributeNames": ["#p"]},
        {"ExpressionAttributeValues": {":v": "own"}},
        {"ExpressionAttributeValues": {":v": {"S": "own", "N": "1"}}},
        {"ExpressionAttributeValues": {":v": {"S": ["own"]}}},
    ],
    ids=str,
)
def test_placeholders_that_could_be_read_in_two_ways_are_unsupported(placeholders: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedRequest):
        ask("#p = :v", **placeholders)


BLANK = st.text(" \t\r\n", max_size=2)
SPELLED = st.sampled_from(["AND", "and", "And"])
SORT = st.sampled_from(["SK = :x", "#s <= :x", ":x > SK", "SK BETWEEN :x AND :y", "begins_with(SK,:x)"])
PARTITION = st.sampled_from(["PK = :v", "#p=:v", ":v = #p", "(PK)=:v", "PK=(:v)"])


@given(
    PARTITION, st.none() | SORT, st.booleans(), st.tuples(st.booleans(), st.booleans(), st.booleans()), SPELLED, BLANK
)
def test_every_legal_spelling_gives_the_same_partition(
    partition: str, sort: str | None, swapped: bool, grouped: tuple[bool, bool, bool], word: str, blank: str
) -> None:
    def group(text: str, group: bool) -> str:
        return f"({blank}{text}{blank})" if group else text

    parts = [group(partition, grouped[0])] + ([group(sort, grouped[1])] if sort else [])
    written = f"{blank} {word} {blank}".join(parts[::-1] if swapped else parts)
    assert ask(group(written, grouped[2])) == ("own",)


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
    """Every supported condition compares the partition key with exactly one value, and that is the one reported."""
    try:
        found = ask(condition)
    except UnsupportedRequest:
        return
    assert found in {("own",), ("foreign",)}
    assert " OR " not in condition
    assert condition.count("PK") + condition.count("#p") == 1
    assert (":v" in condition) if found == ("own",) else (":w" in condition)
