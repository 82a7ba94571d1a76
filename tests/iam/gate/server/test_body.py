"""A request body that parsers could read in different ways is rejected."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.strict_json import InvalidJson, parse_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON, max_size=5), st.text(min_size=1), JSON, JSON)
def test_a_repeated_name_with_any_values_is_rejected(
    content: dict[str, Any], name: str, first: Any, second: Any
) -> None:
    pairs = [*((key, value) for key, value in content.items() if key != name), (name, first), (name, second)]
    members = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs)
    with pytest.raises(InvalidJson, match="twice"):
        parse_object(f"{{{members}}}".encode())


@given(st.dictionaries(st.text(), JSON, max_size=5), st.booleans(), st.sampled_from([None, 2]))
def test_any_object_without_repeated_names_is_parsed(
    content: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    assert parse_object(json.dumps(content, ensure_ascii=ascii_only, indent=indent).encode()) == content


@pytest.mark.parametrize(
    "body",
    [
        b'{"TableName": "a", "TableName": "a"}',
        b'{"TableName": "a", "Table\\u004eame": "b"}',
        b'{"Key": {"PK": {"S": "mine", "S": "yours"}}}',
        b'{"a": [{"b": {"c": 1, "d": ":", "c": 2}}], "e": "\\":"}',
        b'{"a" \n: 1, "a"\t:2}',
        b'{"a": 1, "a": "\\u003a"}',
        b'{"a": 1, "a": "\\u003A"}',
        b'{"a": ":", "a": "\\u003A\\u003a"}',
        b'{"a": "::", "a": 1}',
    ],
    ids=repr,
)
def test_a_repeated_name_is_rejected_at_any_depth(body: bytes) -> None:
    with pytest.raises(InvalidJson, match="twice"):
        parse_object(body)


def test_an_escaped_colon_is_parsed_as_a_colon() -> None:
    assert parse_object(b'{"a\\u003a": "\\u003A:\\\\u003a", "a": ":"}') == {"a:": "::\\u003a", "a": ":"}


def test_a_name_may_occur_in_two_objects() -> None:
    assert parse_object(b'{"a": {"b": 1}, "c": {"b": "x: \\" y"}}') == {"a": {"b": 1}, "c": {"b": 'x: " y'}}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"{",
        b"{}{}",
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a":' * 5000,
        b'{"a":' * 300 + b"1" + b"}" * 300,
        "{}".encode("utf-16"),
    ],
    ids=lambda body: repr(body[:20]),
)
def test_anything_but_a_json_object_is_rejected(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        parse_object(body)
