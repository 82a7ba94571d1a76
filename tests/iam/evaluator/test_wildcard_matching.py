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
def naively(pattern: str, text: str) -> bool:
    """The definition, tried out in every way."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(naively(pattern[1:], text[start:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in {"?", text[0]} and naively(pattern[1:], text[1:])


@examples(500)
@given(st.text("ab*?", max_size=8), st.text("ab\n", max_size=10))
@example("*ab*ba*", "aba")
@example("a*a", "a")
@example("**", "")
@example("?*?", "a")
@example("*?a", "aa")
def test_a_pattern_matches_as_its_definition_does(pattern: str, text: str) -> None:
    assert matches(pattern, text) == naively(pattern, text)


def words(signs: str, longest: int) -> Iterator[str]:
    return ("".join(word) for length in range(longest + 1) for word in product(signs, repeat=length))


def test_every_short_pattern_matches_every_short_text_as_its_definition_does() -> None:
    texts = list(words("ab", 5))
    for pattern in words("ab*?", 5):
        made = compile_glob(parse_wildcards(pattern))
        found = [text for text in texts if made.matches(text)]
        assert found == [text for text in texts if naively(pattern, text)], pattern


@given(st.text("ab*?$[](.\\^", max_size=8))
def test_a_text_without_wildcards_matches_itself_alone(text: str) -> None:
    literal = text.replace("*", "+").replace("?", "!")
    assert matches(literal, literal)
    assert not matches(literal, literal + "x")


def test_a_pattern_of_many_stars_is_fast() -> None:
    assert not matches("*a" * 200 + "*b", "a" * 100_000)
    assert not matches("*a" * 200 + "*b*", "a" * 100_000)
    assert not matches("*?a" * 50 + "*?b*", "a" * 20_000)
    assert matches("*a" * 200 + "*", "a" * 100_000)


@given(st.text("ab*?${}:', x", max_size=20))
def test_a_document_of_version_2008_has_no_variables(text: str) -> None:
    assert (
        "".join(
            atom if isinstance(atom, str) else getattr(atom, "value", "!")
            for atom in parse_pattern(text, has_variables=False)
        )
        == text
    )
