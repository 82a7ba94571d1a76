"""Splits the strings of a policy into plain text, wildcards and `${variables}`."""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class InvalidPattern(ValueError):
    """The text has a `${` that does not begin a policy variable."""


class Wildcard(Enum):
    """`*` matches any text, also an empty one. `?` matches any single character."""

    ANY_TEXT = "*"
    ANY_CHARACTER = "?"


@dataclass(frozen=True, slots=True)
class Variable:
    """A policy variable such as `${aws:PrincipalTag/tenant, 'none'}`. The request's value of `key` replaces it."""

    key: str
    """The condition key in lower case."""
    default: str | None = None


PatternPart = str | Wildcard | Variable
Pattern = tuple[PatternPart, ...]

_VARIABLE = re.compile(
    r"""\$\{ (?:
        (?P<escaped> [*?$] )
      | (?P<key> [^{}$*?',\s] (?: [^{}$*?',]* [^{}$*?',\s] )? )  (?: ,[ ] ' (?P<default> [^'{}]* ) ' )?
    ) \}""",
    re.VERBOSE,
)
_OPENING = "${"


@lru_cache(maxsize=4096)
def parse_pattern(text: str, *, has_variables: bool, has_wildcards: bool = True) -> Pattern:
    """Splits a policy string. Raises InvalidPattern if a `${` does not begin a variable.

    Without `has_variables`, `${` is plain text: only policies of version 2012-10-17 have variables.
    Without `has_wildcards`, `*` and `?` are plain text.
    """
    parts: list[PatternPart] = []
    for plain, variable in _pieces(text) if has_variables else [(text, None)]:
        parts.extend(_split_wildcards(plain) if has_wildcards else [plain])
        if variable is not None:
            parts.append(variable)
    return _join_texts(parts)


def find_variables(text: str) -> list[re.Match[str]]:
    """Returns a match for each policy variable. Its groups `key` and `default` are not changed to lower case."""
    return [match for match in _VARIABLE.finditer(text) if match["key"]]


def _pieces(text: str) -> list[tuple[str, PatternPart | None]]:
    """Returns pairs: a text, and the variable that follows the text. The last pair has None in place of a variable.

    For an escape such as `${*}`, the pair has the escaped character in place of a variable.
    """
    pieces: list[tuple[str, PatternPart | None]] = []
    position = 0
    while (opening := text.find(_OPENING, position)) >= 0:
        match = _VARIABLE.match(text, opening)
        if match is None:
            raise InvalidPattern(f"{text[opening : opening + 40]!r} is not a policy variable")
        pieces.append((text[position:opening], _variable_or_character(match)))
        position = match.end()
    pieces.append((text[position:], None))
    return pieces


def _variable_or_character(match: re.Match[str]) -> PatternPart:
    return match["escaped"] or Variable(match["key"].lower(), match["default"])


def _split_wildcards(text: str) -> list[PatternPart]:
    return [Wildcard(part) if part in {"*", "?"} else part for part in re.split(r"([*?])", text)]


def _join_texts(parts: list[PatternPart]) -> Pattern:
    """Joins adjacent texts, and drops empty ones."""
    joined: list[PatternPart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = last + part
        elif part != "":
            joined.append(part)
    return tuple(joined)
