"""Texts with wildcards and policy variables, taken apart."""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class InvalidPattern(ValueError):
    """A `${` that no variable follows."""


class Wildcard(Enum):
    """A place that other characters may take."""

    ANY_TEXT = "*"
    ANY_CHARACTER = "?"


@dataclass(frozen=True, slots=True)
class Variable:
    """A condition key whose value is put in when a request is judged."""

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
    """Variables are read in documents of version 2012-10-17 alone; elsewhere `${` is plain text."""
    atoms: list[PatternPart] = []
    for plain, variable in _pieces(text) if variables else [(text, None)]:
        atoms.extend(_with_wildcards(plain) if wildcards else [plain])
        if variable is not None:
            atoms.append(variable)
    return _joined(atoms)


def _pieces(text: str) -> list[tuple[str, PatternPart | None]]:
    """The text between variables, each piece with the variable, or the literal character, that follows it."""
    pieces: list[tuple[str, PatternPart | None]] = []
    position = 0
    while (opening := text.find(_OPENING, position)) >= 0:
        found = _VARIABLE.match(text, opening)
        if found is None:
            raise InvalidPattern(f"{text[opening : opening + 40]!r} is not a policy variable")
        pieces.append((text[position:opening], _atom(found)))
        position = found.end()
    pieces.append((text[position:], None))
    return pieces


def _atom(found: re.Match[str]) -> PatternPart:
    return found["literal"] or Variable(found["key"].lower(), found["default"])


def _with_wildcards(text: str) -> list[PatternPart]:
    return [Wildcard(part) if part in {"*", "?"} else part for part in re.split(r"([*?])", text)]


def _joined(atoms: list[PatternPart]) -> Pattern:
    """Neighbouring texts as one, and none that is empty."""
    joined: list[PatternPart] = []
    for atom in atoms:
        last = joined[-1] if joined else None
        if isinstance(atom, str) and isinstance(last, str):
            joined[-1] = last + atom
        elif atom != "":
            joined.append(atom)
    return tuple(joined)
