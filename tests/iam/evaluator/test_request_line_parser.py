"""Each line of JSON has exactly one result, even if the line is invalid."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.cli.policy import evaluate_lines

EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
LINE: dict[str, Any] = {"identity": [EVERYTHING], "action": "dynamodb:GetItem", "resource": "*"}

EMPTY_VALUES: tuple[object, ...] = (False, 0, "", {})


def result_of_line(line: bytes) -> dict[str, str]:
    (result,) = evaluate_lines([line])
    members = json.loads(result)
    assert set(members) == {"decision", "by"}
    return {str(key): str(value) for key, value in members.items()}


def result_of(**changes: Any) -> dict[str, str]:
    return result_of_line(json.dumps({**LINE, **changes}).encode())


def test_the_result_of_a_line_names_the_deciding_statement() -> None:
    assert result_of() == {"decision": "allowed", "by": "identity[0].Statement[0]"}


def test_the_context_may_be_left_out_and_session_and_boundary_may_be_null() -> None:
    assert result_of(session=None, boundary=None, context=None)["decision"] == "allowed"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"identity": EVERYTHING}, "identity: must be a list of policies"),
        ({"identity": None}, "identity: must be a list of policies"),
        ({"session": "none"}, "session: must be a list of policies"),
        *(
            ({kind: empty}, f"{kind}: must be a list of policies")
            for kind in ("identity", "session", "boundary")
            for empty in EMPTY_VALUES
        ),
        ({"action": "GetItem"}, "action: "),
        ({"action": "dynamodb:*"}, "action: "),
        ({"action": 5}, "action: "),
        ({"resource": "app"}, "resource: "),
        ({"resource": "arn:aws:dynamodb:us-east-1:app"}, "resource: "),
        ({"resource": None}, "resource: "),
        ({"context": []}, "context: must be an object"),
        ({"context": {"x:a": {}}}, "context.'x:a': must be a string, a number, a boolean, or a list of them"),
        ({"context": {"x:a": [None]}}, "context.'x:a': "),
        ({"context": {"x:a": [["b"]]}}, "context.'x:a': "),
        ({"context": {"x:a": "1", "X:a": "2"}}, "a condition key occurs twice, in different case"),
        ({"sesion": []}, "'sesion': unknown field"),
    ],
)
def test_the_result_of_an_invalid_line_says_why(changes: dict[str, Any], problem: str) -> None:
    invalid = result_of(**changes)
    assert invalid["decision"] == "invalid"
    assert invalid["by"].startswith(problem)


@pytest.mark.parametrize("name", ["identity", "action", "resource"])
def test_a_missing_field_is_named(name: str) -> None:
    line = {key: value for key, value in LINE.items() if key != name}
    assert result_of_line(json.dumps(line).encode()) == {"decision": "invalid", "by": f"{name}: is missing"}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"NaN",
        b"\xff\xfe",
        b'"\\ud800"',
        b"[" * 100_000,
        b"1" * 5000,
        b'{"action": 1, "action": 2}',
        b'{"\\ud800": 1, "identity": [], "action": "a:b", "resource": "*"}',
        b'{"identity": [{"\\ud800": 1}], "action": "a:b", "resource": "*"}',
        b'{"identity": ["\\ud800"], "action": "a:b", "resource": "*"}',
        b'{"identity": [{"Version": "\\ud800"}], "action": "a:b", "resource": "*"}',
        b'{"identity": [12345678901234567890123], "action": "a:b", "resource": "*"}',
        b'{"identity": [], "action": "a:b", "resource": "*", "context": {"\\ud800": {}}}',
        b'{"identity": [{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Effect": "Deny"}}], '
        b'"action": "a:b", "resource": "*"}',
    ],
    ids=range(16),
)
def test_a_broken_line_is_invalid_and_raises_nothing(line: bytes) -> None:
    assert result_of_line(line)["decision"] == "invalid"


@given(st.binary(max_size=60).filter(lambda line: line.strip() != b""))
def test_random_bytes_are_an_invalid_line(line: bytes) -> None:
    assert result_of_line(line)["decision"] == "invalid"


def test_an_empty_line_has_no_result() -> None:
    good = json.dumps(LINE).encode()
    assert len(list(evaluate_lines([b"\n", good, b"  \r\n", good, b""]))) == 2


def test_each_result_is_written_before_the_next_line_is_read() -> None:
    read: list[int] = []

    def lines() -> Iterator[bytes]:
        for number in range(3):
            read.append(number)
            yield json.dumps(LINE).encode()

    results = evaluate_lines(lines())
    for expected in ([0], [0, 1], [0, 1, 2]):
        next(results)
        assert read == expected


def test_the_cache_does_not_mix_up_policies_that_differ_in_one_word() -> None:
    def decision(effect: str) -> str:
        statement = {"Effect": effect, "Action": "*", "Resource": "*"}
        return result_of(identity=[{"Version": "2012-10-17", "Statement": [statement]}])["decision"]

    assert [decision(effect) for effect in ("Allow", "Deny", "Allow")] == ["allowed", "explicit_deny", "allowed"]


def test_an_empty_list_of_session_policies_limits_nothing() -> None:
    assert result_of(session=[], boundary=[])["decision"] == "allowed"
