"""A JSON text that two parsers could read differently is rejected."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.strict_json import InvalidJson, parse, parse_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(':\\"u03aA é', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(':\\"a', max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', '[{"b":{"a":1,"a":1}}]', '{"a":1,"\\u0061":2}', '{":":1,"\\u003a":2}'],
)
def test_a_key_that_occurs_twice_is_rejected(text: str) -> None:
    with pytest.raises(InvalidJson, match="occurs twice in one object"):
        parse(text)
    with pytest.raises(InvalidJson, match="occurs twice in one object"):
        parse_object(b'{"x":%s}' % text.encode())


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "-Infinity", "", "{", "{} {}", "[" * 100_000, "\ufeff{}", "{'a':1}"]
)
def test_a_text_that_is_not_json_is_rejected(text: str) -> None:
    for document in (text, text.encode()):
        with pytest.raises(InvalidJson, match="not JSON"):
            parse(document)
    with pytest.raises(InvalidJson):
        parse_object(text.encode())


@pytest.mark.parametrize("body", [b"\xff", "{}".encode("utf-16"), b'{"a":"\xed\xa0\x80"}'])
def test_bytes_that_are_not_utf_8_are_rejected(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        parse(body)
    with pytest.raises(InvalidJson):
        parse_object(body)


@given(VALUES, st.booleans())
def test_every_other_text_has_the_same_value_as_in_the_json_module(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse(text) == parse(text.encode()) == value
    assert parse_object(b'{"value":%s}' % text.encode()) == {"value": value}


def test_a_body_that_is_not_an_object_is_rejected() -> None:
    with pytest.raises(InvalidJson, match="not an object"):
        parse_object(b"[]")
