"""Policies are parsed and written as JSON. What IAM rejects is rejected, with the JSON path in the message."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence_iam.policy import (
    Condition,
    DocumentKind,
    InvalidPolicy,
    Policy,
    Statement,
    parse_policy,
    parse_policy_text,
)
from keyfence_iam.policy.pattern import InvalidPattern, Variable, Wildcard, parse_pattern

READ = {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}
TRUST = {"Effect": "Allow", "Principal": {"AWS": "000000000000"}, "Action": "sts:AssumeRole"}
READ_STATEMENT = Statement(effect="Allow", actions=("dynamodb:GetItem",), resources=("*",))


def document(*statements: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements), **rest}


def test_a_value_and_a_list_of_one_value_are_the_same() -> None:
    read_with_lists = {"Effect": "Allow", "Action": ["dynamodb:GetItem"], "Resource": ["*"]}
    assert (
        parse_policy({"Version": "2012-10-17", "Statement": READ})
        == parse_policy(document(read_with_lists))
        == Policy(statements=(READ_STATEMENT,))
    )


def test_a_document_without_a_version_has_version_2008() -> None:
    assert parse_policy({"Statement": READ}).version == "2008-10-17"


def test_numbers_and_booleans_become_strings() -> None:
    block = {"StringEquals": {"x:a": [5, 2.5, 3.0, True, "b"]}, "Null": {"x:b": False}}
    (statement,) = parse_policy(document(READ | {"Condition": block})).statements
    assert statement.conditions == (
        Condition("StringEquals", "x:a", ("5", "2.5", "3", "true", "b")),
        Condition("Null", "x:b", ("false",)),
    )


def test_any_principal_can_be_written_in_two_forms() -> None:
    from_text = parse_policy(document(TRUST | {"Principal": "*"}), kind="trust")
    assert from_text == parse_policy(document(TRUST | {"Principal": {"AWS": "*"}}), kind="trust")
    assert from_text.statements[0].principals == {"AWS": ("*",)}


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        ("identity", READ | {"Sid": "Read"}),
        ("identity", {"Effect": "Deny", "NotAction": ["s3:*"], "NotResource": "arn:aws:s3:::a"}),
        ("trust", TRUST | {"Principal": {"AWS": ["000000000000"], "Service": ["ecs-tasks.amazonaws.com"]}}),
        ("trust", TRUST | {"Condition": {"Bool": {"x:a": "true"}, "Null": {"x:a": "false"}}}),
        ("resource", READ | {"Sid": "a sentence, for once", "Principal": "*"}),
        ("resource", {"Effect": "Deny", "NotPrincipal": {"AWS": "000000000000"}, "Action": "*", "Resource": "*"}),
    ],
)
def test_a_policy_of_each_kind_survives_a_round_trip_through_json(
    kind: DocumentKind, statement: dict[str, Any]
) -> None:
    policy = parse_policy(document(statement, Id="one"), kind=kind)
    assert parse_policy(policy.as_json(), kind=kind) == policy
    assert parse_policy_text(json.dumps(policy.as_json()), kind=kind) == policy


@pytest.mark.parametrize(
    ("kind", "statement", "problem"),
    [
        ("trust", TRUST | {"Resource": "*"}, "policy.Statement[0].Resource: is not allowed in a trust policy"),
        ("trust", READ, "policy.Statement[0].Resource: is not allowed in a trust policy"),
        ("trust", {"Effect": "Allow", "Action": "sts:AssumeRole"}, "policy.Statement[0]: Principal is missing"),
        ("resource", READ, "policy.Statement[0]: Principal is missing"),
        ("trust", TRUST | {"Principal": {}}, "policy.Statement[0].Principal: must name at least one principal"),
        ("trust", TRUST | {"Principal": "me"}, "policy.Statement[0].Principal: must be an object"),
        ("trust", TRUST | {"Principal": {"aws": "*"}}, "policy.Statement[0].Principal.aws: unknown element"),
        ("trust", TRUST | {"Principal": {"AWS": "12"}}, "policy.Statement[0].Principal.AWS: '12' is not the full name"),
        ("trust", TRUST | {"Principal": {"AWS": "arn:aws:iam::000000000000:role/*"}}, "policy.Statement[0].Principal"),
        ("trust", TRUST | {"Principal": {"Service": "*"}}, "policy.Statement[0].Principal.Service: '*'"),
        ("trust", TRUST | {"NotPrincipal": "*"}, "policy.Statement[0]: Principal and NotPrincipal exclude"),
    ],
)
def test_elements_in_the_wrong_kind_of_policy_are_rejected(
    kind: DocumentKind, statement: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidPolicy) as error:
        parse_policy(document(statement), kind=kind)
    assert str(error.value).startswith(problem)


def test_the_json_path_of_an_error_begins_with_the_path_that_is_passed() -> None:
    with pytest.raises(InvalidPolicy, match=r"^roles/app\.json\.Statement\[1\]\.Effect: 'allow' is neither"):
        parse_policy(document(READ, READ | {"Effect": "allow"}), path="roles/app.json")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"Version": "2012-10-17", "Version": "2012-10-17"}', "policy: the key 'Version' occurs twice in one object"),
        ("", "policy: not JSON"),
        ("NaN", "policy: not JSON: NaN"),
        ("[" * 100_000, "policy: not JSON"),
        (b"\xff", "policy: not JSON"),
        ("null", "policy: must be an object, not null"),
    ],
)
def test_a_text_that_is_not_a_policy_is_rejected(text: str | bytes, problem: str) -> None:
    with pytest.raises(InvalidPolicy) as error:
        parse_policy_text(text)
    assert str(error.value).startswith(problem)


NAMES = st.sampled_from(["Version", "Statement", "Effect", "Action", "Resource", "Condition", "StringLike", "Bool"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["*", "Allow"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


@given(JSON, JSON)
@example({"Version": ["2012-10-17"], "Statement": READ}, None)
@example({"Statement": {**READ, "Effect": ["Allow"]}}, None)
def test_any_value_is_parsed_or_raises_invalid_policy(value: object, condition: object) -> None:
    for candidate in (value, {"Statement": value}, document(READ | {"Condition": condition})):
        assert problem_of(candidate, "identity").startswith("policy")
        assert problem_of(candidate, "trust").startswith("policy")


def problem_of(candidate: object, kind: DocumentKind) -> str:
    try:
        return f"policy of {len(parse_policy(candidate, kind=kind).statements)} statements"
    except InvalidPolicy as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a*b?", ("a", Wildcard.ANY_TEXT, "b", Wildcard.ANY_CHARACTER)),
        ("${aws:PrincipalTag/Tenant}", (Variable("aws:principaltag/tenant"),)),
        ("a${x:b, 'c d'}e", ("a", Variable("x:b", "c d"), "e")),
        ("a${*}b${?}${$}", ("a*b?$",)),
        ("$a$", ("$a$",)),
        ("", ()),
    ],
)
def test_a_pattern_is_split_into_parts(text: str, parts: tuple[object, ...]) -> None:
    assert parse_pattern(text, has_variables=True) == parts


@pytest.mark.parametrize("text", ["${", "${}", "${ x:a}", "${x:a }", "${x:a,'b'}", "${x:a, b}", "${x:a, 'b}", "${*a}"])
def test_a_malformed_variable_is_rejected(text: str) -> None:
    with pytest.raises(InvalidPattern):
        parse_pattern(text, has_variables=True)
    assert parse_pattern(text.replace("*", ""), has_variables=False) == (text.replace("*", ""),)


def test_policies_can_be_keys_of_a_dictionary() -> None:
    trust = parse_policy(document(TRUST), kind="trust")
    assert {trust: "kept"}[parse_policy(document(TRUST), kind="trust")] == "kept"


@pytest.mark.parametrize(
    "statement",
    [
        {"Action": [], "Resource": ["*"]},
        {"Action": ["*"], "Resource": []},
        {"Action": ["*"], "Resource": ["*"], "Condition": {"StringEquals": {"x:a": []}}},
    ],
    ids=["Action", "Resource", "Condition"],
)
def test_an_empty_list_survives_a_round_trip(statement: dict[str, Any]) -> None:
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]}
    assert parse_policy(document).as_json() == document
