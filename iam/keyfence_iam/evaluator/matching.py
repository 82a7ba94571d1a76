"""Wildcards, ARNs and variables against request values."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from keyfence_iam.evaluator.request import ConditionValues
from keyfence_iam.policy.pattern import Pattern, PatternPart, Variable, Wildcard, parse_pattern


@dataclass(frozen=True, slots=True)
class FixedText:
    """A run of characters that stand for themselves."""

    text: str
    width: int

    def matches_at(self, text: str, position: int) -> bool:
        return text.startswith(self.text, position)

    def find_end(self, text: str, position: int, end: int) -> int:
        """Where its first occurrence ends, or -1."""
        found = text.find(self.text, position, end)
        return found if found < 0 else found + self.width


@dataclass(frozen=True, slots=True)
class TextWithGaps:
    """A run with characters that may be any one."""

    expression: re.Pattern[str]
    width: int

    def matches_at(self, text: str, position: int) -> bool:
        return self.expression.match(text, position) is not None

    def find_end(self, text: str, position: int, end: int) -> int:
        found = self.expression.search(text, position, end)
        return -1 if found is None else found.end()


GlobPart = FixedText | TextWithGaps


@dataclass(frozen=True, slots=True)
class Glob:
    """Runs with anything, or nothing, between them."""

    first: GlobPart
    between: tuple[GlobPart, ...] = ()
    last: GlobPart | None = None

    @property
    def exact(self) -> str | None:
        """The one text that it matches, if there is but one."""
        return self.first.text if self.last is None and isinstance(self.first, FixedText) else None

    def matches(self, text: str) -> bool:
        """The leftmost place of each run leaves most room for the next, so nothing is tried twice."""
        position, last = self.first.width, self.last
        if last is None:
            return len(text) == position and self.first.matches_at(text, 0)
        end = len(text) - last.width
        if position > end or not self.first.matches_at(text, 0) or not last.matches_at(text, end):
            return False
        for run in self.between:
            position = run.find_end(text, position, end)
            if position < 0:
                return False
        return True


def compile_glob(atoms: Iterable[str | Wildcard]) -> Glob:
    runs: list[list[str | Wildcard]] = [[]]
    for atom in atoms:
        if atom is Wildcard.ANY_TEXT:
            runs.append([])
        else:
            runs[-1].append(atom)
    first, *rest = (_run(run) for run in runs)
    return Glob(first, tuple(rest[:-1]), rest[-1]) if rest else Glob(first)


def _run(atoms: list[str | Wildcard]) -> GlobPart:
    plain = [atom for atom in atoms if isinstance(atom, str)]
    if len(plain) == len(atoms):
        text = "".join(plain)
        return FixedText(text, len(text))
    expression = "".join(re.escape(atom) if isinstance(atom, str) else "." for atom in atoms)
    return TextWithGaps(
        re.compile(expression, re.DOTALL), sum(len(atom) if isinstance(atom, str) else 1 for atom in atoms)
    )


Matcher = Callable[[str], bool]
CompiledValue = Callable[[ConditionValues], Matcher | None]
"""A policy's value: what it matches in this context, or None if a variable in it has no value."""

ResolvedPattern = list[str | Wildcard]
ARN_SEGMENTS = 6


def substitute(atoms: Iterable[PatternPart], context: ConditionValues) -> ResolvedPattern | None:
    """The template with its variables' values as plain text; a key of ArrayOf type has no value to put in."""
    made: ResolvedPattern = []
    for atom in atoms:
        value = _value(atom, context) if isinstance(atom, Variable) else atom
        if value is None:
            return None
        made.append(value)
    return made


def _value(variable: Variable, context: ConditionValues) -> str | None:
    value = context.get(variable.key)
    return value if isinstance(value, str) else variable.default


def parse_wildcards(text: str) -> ResolvedPattern:
    """A text whose wildcards act and which has no variables."""
    return [atom for atom in parse_pattern(text, variables=False) if not isinstance(atom, Variable)]


def compile_pattern(atoms: Pattern, matcher: Callable[[ResolvedPattern], Matcher]) -> CompiledValue:
    """A value without variables is made ready once."""
    if not any(isinstance(atom, Variable) for atom in atoms):
        ready = matcher([atom for atom in atoms if not isinstance(atom, Variable)])
        return lambda _: ready

    def in_context(context: ConditionValues) -> Matcher | None:
        made = substitute(atoms, context)
        return None if made is None else matcher(made)

    return in_context


def pattern_text(atoms: Iterable[str | Wildcard]) -> str:
    """The template as one text again, a wildcard as its sign."""
    return "".join(atom if isinstance(atom, str) else atom.value for atom in atoms)


@dataclass(frozen=True, slots=True)
class ArnPattern:
    """Six patterns, one for each segment of an ARN: none reaches over a colon, but the last takes all that is left."""

    segments: tuple[Glob, ...]

    def matches(self, arn: str) -> bool:
        parts = arn.split(":", ARN_SEGMENTS - 1)
        if len(parts) != len(self.segments):
            return False
        return all(segment.matches(part) for segment, part in zip(self.segments, parts, strict=True))


def string_matcher(atoms: ResolvedPattern) -> Matcher:
    pattern = compile_glob(atoms)
    return pattern.matches if pattern.exact is None else pattern.exact.__eq__


def arn_matcher(segments: Sequence[ResolvedPattern]) -> Matcher:
    """What has fewer than six segments is the pattern of no ARN."""
    if len(segments) < ARN_SEGMENTS:
        return _nothing
    *head, _ = patterns = tuple(compile_glob(segment) for segment in segments)
    plain = [pattern.exact for pattern in head if pattern.exact is not None and ":" not in pattern.exact]
    if len(plain) < len(head):
        return ArnPattern(patterns).matches
    return _beginning_with("".join(f"{text}:" for text in plain), string_matcher(segments[-1]))


def _beginning_with(start: str, rest: Matcher) -> Matcher:
    """The same as an ArnPattern whose first five segments have no wildcards, at a third of the cost."""
    return lambda arn: arn.startswith(start) and rest(arn[len(start) :])


def _nothing(_: str) -> bool:
    return False
