"""Escaped text has no '#', sorts like the original text, and can be unescaped."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.key_template import escape
from tests.tier import examples

DEL = "\x7f"
SIGNS = st.text("#%&$!'\"09AFaf~\x00\x1f\x7f\x80é\ud7ff\ue000\uffff🙂", max_size=6)
TEXT = SIGNS | st.text()


def sort_positions(text: str) -> list[float]:
    """Returns the code points of a text, with DEL right after '%', where its escape sorts."""
    return [ord("%") + 0.5 if character == DEL else ord(character) for character in text]


def unescape(text: str) -> str:
    return re.sub(r"%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), text)


@given(TEXT)
@example("%23")
@example("%2523")
@example("%7F")
def test_any_text_can_be_unescaped(text: str) -> None:
    assert unescape(escape(text)) == text


@given(TEXT)
def test_no_escaped_text_contains_a_hash_a_control_character_or_a_blank(text: str) -> None:
    assert all(character >= "%" and character != DEL for character in escape(text))


@given(TEXT, TEXT)
def test_two_texts_never_share_an_escape(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@examples(300)
@given(TEXT, TEXT)
def test_a_value_in_a_key_sorts_as_its_text_does(one: str, other: str) -> None:
    assert (escape(one) + "#" < escape(other) + "#") == (sort_positions(one) < sort_positions(other))


@given(TEXT.filter(lambda text: DEL not in text), TEXT.filter(lambda text: DEL not in text))
def test_order_by_code_point_is_preserved_without_del(one: str, other: str) -> None:
    assert (escape(one) + "#" < escape(other) + "#") == (one < other)


def test_del_is_the_one_character_that_sorts_elsewhere() -> None:
    moved = [chr(code) for code in range(0x26, 0x250) if (escape(chr(code)) < escape(DEL)) != (chr(code) < DEL)]
    assert moved == [chr(code) for code in range(0x26, 0x7F)]
    assert escape("%") < escape(DEL) < escape("&")


@given(st.text(), st.characters(categories=["Cs"]), st.text())
def test_a_lone_surrogate_cannot_be_escaped(before: str, surrogate: str, after: str) -> None:
    with pytest.raises(BadInput):
        escape(before + surrogate + after)
