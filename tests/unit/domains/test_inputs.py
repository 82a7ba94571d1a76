"""A line of text is one that somebody can read and every layer below can carry."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.validation import checked_line

ODD = ["\x00", "\t", "\n", "\r", "\x1f", "\x7f", "\x80", "\x85", "\x9f", "\u2028", "\u2029", "\ud800", "\udfff"]


@given(st.text(st.characters(), max_size=12))
def test_a_line_is_kept_as_it_is_or_refused_for_a_reason(text: str) -> None:
    blank, long = not text.strip(), len(text) > 10
    if blank or long or any(unicodedata.category(one) in {"Cc", "Cs", "Zl", "Zp"} for one in text):
        with pytest.raises(BadInput) as refusal:
            checked_line(text, "name", 10)
        assert refusal.value.extensions == {"field": "name"}
    else:
        assert checked_line(text, "name", 10) == text


@pytest.mark.parametrize("text", ["", " ", "\u3000", "\u00a0 "])
def test_a_blank_line_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        checked_line(text, "name", 10)


@pytest.mark.parametrize("character", ODD, ids=ascii)
def test_a_control_character_a_line_break_or_half_a_character_is_refused(character: str) -> None:
    with pytest.raises(BadInput):
        checked_line(f"a{character}b", "name", 10)


@pytest.mark.parametrize("text", ["a", "a" * 10, "Zoë 🙂", "#%", "O'Neil", "  a  ", "👩\u200d💻"])
def test_a_readable_line_is_accepted(text: str) -> None:
    assert checked_line(text, "name", 10) == text


def test_a_line_that_is_too_long_is_told_how_long_it_may_be() -> None:
    with pytest.raises(BadInput, match="1 to 10 characters"):
        checked_line("a" * 11, "name", 10)
