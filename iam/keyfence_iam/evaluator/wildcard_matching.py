"""Matches wildcards, ARNs and variables against the values of a request."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from keyfence_iam.evaluator.request import ConditionValues
from keyfence_iam.policy.pattern import Pattern, PatternPart, Variable, Wildcard, parse_pattern

ARN_SEGMENTS = 6

Matcher = Callable[[str], bool]

CompiledValue = Callable[[ConditionValues], Matcher | None]
"""A value of a policy: returns its matcher for a request, or None if a variable in it has no value."""

ResolvedPattern = list[str | Wildcard]
"""A pattern with its variables replaced."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """A part of a glob in which each character matches itself."""

    text: str
    width: int

    def matches_at(self, text: str, position: int) -> bool:
        return text.startswith(self.text, position)

    def find_end(self, text: str, position: int, end: int) -> int:
        """Returns where the first occurrence ends, or -1."""
        found = text.find(self.text, position, end)
        return found if found < 0 else found + self.width


@dataclass(frozen=True, slots=True)
class TextWithGaps:
    """A part of a glob with `?`: some of its characters match any character."""

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
    """Parts with `*` between them. `last` is None if there is no `*`."""

    first: GlobPart
    between: tuple[GlobPart, ...] = ()
    last: GlobPart | None = None

    @property
    def exact(self) -> str | None:
        """The only text that matches, or None if several do."""
        return self.first.text if self.last is None and isinstance(self.first, FixedText) else None

    def matches(self, text: str) -> bool:
        """Matches each part at its leftmost position. This leaves most text for the next part: no backtracking."""
        position, last = self.first.width, self.last
        if last is None:
            return len(text) == position and self.first.matches_at(text, 0)
        end = len(text) - last.width
        if position > end or not self.first.matches_at(text, 0) or not last.matches_at(text, end):
            return False
        for part in self.between:
            position = part.find_end(text, position, end)
            if position < 0:
                return False
        return True


@dataclass(frozen=True, slots=True)
class ArnPattern:
    """One glob for each of the six segments of an ARN. Only the last one can match a colon."""

    segments: tuple[Glob, ...]

    def matches(self, arn: str) -> bool:
        parts = arn.split(":", ARN_SEGMENTS - 1)
        if len(parts) != len(self.segments):
            return False
        return all(segment.matches(part) for segment, part in zip(self.segments, parts, strict=True))


def compile_glob(parts: Iterable[str | Wildcard]) -> Glob:
    between_stars: list[list[str | Wildcard]] = [[]]
    for part in parts:
        if part is Wildcard.ANY_TEXT:
            between_stars.append([])
        else:
            between_stars[-1].append(part)
    first, *rest = (_glob_part(part) for part in between_stars)
    return Glob(first, tuple(rest[:-1]), rest[-1]) if rest else Glob(first)


def string_matcher(parts: ResolvedPattern) -> Matcher:
    pattern = compile_glob(parts)
    return pattern.matches if pattern.exact is None else pattern.exact.__eq__


def arn_matcher(segments: Sequence[ResolvedPattern]) -> Matcher:
    """Returns a matcher of ARNs. A pattern with fewer than six segments matches none."""
    if len(segments) < ARN_SEGMENTS:
        return _matches_nothing
    *head, _ = patterns = tuple(compile_glob(segment) for segment in segments)
    exact = [pattern.exact for pattern in head if pattern.exact is not None and ":" not in pattern.exact]
    if len(exact) < len(head):
        return ArnPattern(patterns).matches
    return _prefix_matcher("".join(f"{text}:" for text in exact), string_matcher(segments[-1]))


def compile_pattern(parts: Pattern, make_matcher: Callable[[ResolvedPattern], Matcher]) -> CompiledValue:
    """Compiles a value of a policy. The matcher of a value without variables is made only once."""
    if not any(isinstance(part, Variable) for part in parts):
        matcher = make_matcher([part for part in parts if not isinstance(part, Variable)])
        return lambda _: matcher

    def resolve(values: ConditionValues) -> Matcher | None:
        resolved = substitute(parts, values)
        return None if resolved is None else make_matcher(resolved)

    return resolve


def substitute(parts: Iterable[PatternPart], values: ConditionValues) -> ResolvedPattern | None:
    """Replaces variables by their values, as plain text. Returns None if a variable has no value.

    A multivalued key has no single value, and counts as none.
    """
    resolved: ResolvedPattern = []
    for part in parts:
        value = _variable_value(part, values) if isinstance(part, Variable) else part
        if value is None:
            return None
        resolved.append(value)
    return resolved


def parse_wildcards(text: str) -> ResolvedPattern:
    """Parses a text that has wildcards but no variables."""
    return [part for part in parse_pattern(text, variables=False) if not isinstance(part, Variable)]


def pattern_text(parts: Iterable[str | Wildcard]) -> str:
    """Returns the pattern as a text with `*` and `?`."""
    return "".join(part if isinstance(part, str) else part.value for part in parts)


def _variable_value(variable: Variable, values: ConditionValues) -> str | None:
    value = values.get(variable.key)
    return value if isinstance(value, str) else variable.default


def _glob_part(parts: list[str | Wildcard]) -> GlobPart:
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        text = "".join(texts)
        return FixedText(text, len(text))
    expression = "".join(re.escape(part) if isinstance(part, str) else "." for part in parts)
    width = sum(len(part) if isinstance(part, str) else 1 for part in parts)
    return TextWithGaps(re.compile(expression, re.DOTALL), width)


def _prefix_matcher(prefix: str, rest: Matcher) -> Matcher:
    """The same as an ArnPattern whose first five segments have no wildcards, in a third of the time."""
    return lambda arn: arn.startswith(prefix) and rest(arn[len(prefix) :])


def _matches_nothing(_: str) -> bool:
    return False
