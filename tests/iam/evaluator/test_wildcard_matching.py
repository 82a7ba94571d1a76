"""Wildcards match as IAM defines them, in linear time."""

from collections.abc import Iterator
from functools import cache
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from keyfence_iam.evaluator.wildcard_matching import compile_glob, parse_wildcards
from keyfence_iam.policy.pattern import parse_pattern
from tests.tier import examples


def matches(pattern: str, text: str) -> bool:
    return compile_glob(parse_wildcards(pattern)).matches(text)


@cache
def matches_by_definition(pattern: str, text: str) -> bool:
    """Returns whether the pattern matches, by trying every length of text for each `*`."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(matches_by_definition(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in {"?", text[0]} and matches_by_definition(pattern[1:], text[1:])


@examples(500)
@given(st.text("ab*?", max_size=8), st.text("ab\n", max_size=10))
@example("*ab*ba*", "aba")
@example("a*a", "a")
@example("**", "")
@example("?*?", "a")
@example("*?a", "aa")
def test_a_pattern_matches_exactly_the_texts_of_its_definition(pattern: str, text: str) -> None:
    assert matches(pattern, text) == matches_by_definition(pattern, text)


def all_texts(characters: str, max_length: int) -> Iterator[str]:
    return (
        "".join(text_characters)
        for length in range(max_length + 1)
        for text_characters in product(characters, repeat=length)
    )


def test_every_short_pattern_matches_exactly_the_short_texts_of_its_definition() -> None:
    texts = list(all_texts("ab", 5))
    for pattern in all_texts("ab*?", 5):
        glob = compile_glob(parse_wildcards(pattern))
        matching_texts = [text for text in texts if glob.matches(text)]
        assert matching_texts == [text for text in texts if matches_by_definition(pattern, text)], pattern


@given(st.text("ab*?$[](.\\^", max_size=8))
def test_a_text_without_wildcards_matches_only_itself(text: str) -> None:
    literal = text.replace("*", "+").replace("?", "!")
    assert matches(literal, literal)
    assert not matches(literal, literal + "x")


def test_a_pattern_of_many_stars_is_fast() -> None:
    assert not matches("*a" * 200 + "*b", "a" * 100_000)
    assert not matches("*a" * 200 + "*b*", "a" * 100_000)
    assert not matches("*?a" * 50 + "*?b*", "a" * 20_000)
    assert matches("*a" * 200 + "*", "a" * 100_000)


@given(st.text("ab*?${}:', x", max_size=20))
def test_without_variables_the_parts_of_a_pattern_are_its_whole_text(text: str) -> None:
    assert (
        "".join(
            part if isinstance(part, str) else getattr(part, "value", "!")
            for part in parse_pattern(text, has_variables=False)
        )
        == text
    )
