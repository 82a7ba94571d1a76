"""Checks of text that callers send."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.validation import checked_line

REFUSED_CHARACTERS = [
    "\x00",
    "\t",
    "\n",
    "\r",
    "\x1f",
    "\x7f",
    "\x80",
    "\x85",
    "\x9f",
    "\u2028",
    "\u2029",
    "\ud800",
    "\udfff",
]


@given(st.text(st.characters(), max_size=12))
def test_a_line_is_returned_unchanged_or_is_bad_input(text: str) -> None:
    is_blank, is_long = not text.strip(), len(text) > 10
    if is_blank or is_long or any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in text):
        with pytest.raises(BadInput) as refusal:
            checked_line(text, "name", 10)
        assert refusal.value.extensions == {"field": "name"}
    else:
        assert checked_line(text, "name", 10) == text


@pytest.mark.parametrize("text", ["", " ", "\u3000", "\u00a0 "])
def test_a_blank_line_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput):
        checked_line(text, "name", 10)


@pytest.mark.parametrize("character", REFUSED_CHARACTERS, ids=ascii)
def test_control_characters_line_breaks_and_lone_surrogates_are_bad_input(character: str) -> None:
    with pytest.raises(BadInput):
        checked_line(f"a{character}b", "name", 10)


@pytest.mark.parametrize("text", ["a", "a" * 10, "Zoë 🙂", "#%", "O'Neil", "  a  ", "👩\u200d💻"])
def test_a_readable_line_is_accepted(text: str) -> None:
    assert checked_line(text, "name", 10) == text


def test_the_error_for_a_long_line_says_the_largest_length() -> None:
    with pytest.raises(BadInput, match="1 to 10 characters"):
        checked_line("a" * 11, "name", 10)
