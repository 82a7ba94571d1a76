"""Policy strings, split into plain text, wildcards and `${variables}`."""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class InvalidPattern(ValueError):
    """The text has a `${` that does not begin a policy variable."""


class Wildcard(Enum):
    """`*` matches any text, also none. `?` matches any one character."""

    ANY_TEXT = "*"
    ANY_CHARACTER = "?"


@dataclass(frozen=True, slots=True)
class Variable:
    """A condition key whose value replaces the variable when a request is evaluated."""

    key: str
    default: str | None = None


PatternPart = str | Wildcard | Variable
Pattern = tuple[PatternPart, ...]

_VARIABLE = re.compile(
    r"""\$\{ (?:
        (?P<literal> [*?$] )
      | (?P<key> [^{}$*?',\s] (?: [^{}$*?',]* [^{}$*?',\s] )? )  (?: ,[ ] ' (?P<default> [^'{}]* ) ' )?
    ) \}""",
    re.VERBOSE,
)
_OPENING = "${"


@lru_cache(maxsize=4096)
def parse_pattern(text: str, *, variables: bool, wildcards: bool = True) -> Pattern:
    """Splits a policy string. Raises InvalidPattern.

    Only documents of version 2012-10-17 have variables. In others `${` is plain text.
    """
    parts: list[PatternPart] = []
    for plain, variable in _pieces(text) if variables else [(text, None)]:
        parts.extend(_with_wildcards(plain) if wildcards else [plain])
        if variable is not None:
            parts.append(variable)
    return _joined(parts)


def find_variables(text: str) -> list[re.Match[str]]:
    """Returns a match for each policy variable, with the groups `key` and `default` as they are written."""
    return [found for found in _VARIABLE.finditer(text) if found["key"]]


def _pieces(text: str) -> list[tuple[str, PatternPart | None]]:
    """Returns the texts between variables, each with the variable or the escaped character that follows it."""
    pieces: list[tuple[str, PatternPart | None]] = []
    position = 0
    while (opening := text.find(_OPENING, position)) >= 0:
        found = _VARIABLE.match(text, opening)
        if found is None:
            raise InvalidPattern(f"{text[opening : opening + 40]!r} is not a policy variable")
        pieces.append((text[position:opening], _variable(found)))
        position = found.end()
    pieces.append((text[position:], None))
    return pieces


def _variable(found: re.Match[str]) -> PatternPart:
    return found["literal"] or Variable(found["key"].lower(), found["default"])


def _with_wildcards(text: str) -> list[PatternPart]:
    return [Wildcard(part) if part in {"*", "?"} else part for part in re.split(r"([*?])", text)]


def _joined(parts: list[PatternPart]) -> Pattern:
    """Joins adjacent texts, and drop empty ones."""
    joined: list[PatternPart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = last + part
        elif part != "":
            joined.append(part)
    return tuple(joined)
