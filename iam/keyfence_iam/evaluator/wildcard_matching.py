"""Matches patterns with wildcards, also in ARNs, and replaces policy variables by values of the request."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from keyfence_iam.evaluator.request import LowercaseContext
from keyfence_iam.policy.pattern import Pattern, PatternPart, Variable, Wildcard, parse_pattern

ARN_SEGMENT_COUNT = 6
"""The number of segments of an ARN. Colons separate the segments. Only the last segment can contain colons."""

Matcher = Callable[[str], bool]
"""A function that returns whether a text matches."""

CompiledValue = Callable[[LowercaseContext], Matcher | None]
"""A value of a policy, as a function. Its argument is the context of a request, which has the values of variables.

It returns a matcher, or None if a variable has no value.
"""

ResolvedPattern = list[str | Wildcard]
"""A pattern with its variables replaced."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """A part of a glob without `?`: each character matches itself."""

    text: str
    width: int

    def matches_at(self, text: str, position: int) -> bool:
        return text.startswith(self.text, position)

    def find_end(self, text: str, position: int, end: int) -> int:
        """Returns the position after the first occurrence between `position` and `end`, or -1."""
        start = text.find(self.text, position, end)
        return start if start < 0 else start + self.width


@dataclass(frozen=True, slots=True)
class TextWithQuestionMarks:
    """A part of a glob with `?`, which matches any single character."""

    expression: re.Pattern[str]
    width: int

    def matches_at(self, text: str, position: int) -> bool:
        return self.expression.match(text, position) is not None

    def find_end(self, text: str, position: int, end: int) -> int:
        match = self.expression.search(text, position, end)
        return -1 if match is None else match.end()


GlobPart = FixedText | TextWithQuestionMarks


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern with `*` and `?`, split at each `*`. `last` is None if the pattern has no `*`."""

    first: GlobPart
    middle: tuple[GlobPart, ...] = ()
    last: GlobPart | None = None

    @property
    def only_match(self) -> str | None:
        """The only text that matches, or None if the pattern has a wildcard."""
        return self.first.text if self.last is None and isinstance(self.first, FixedText) else None

    def matches(self, text: str) -> bool:
        """Returns whether the whole text matches.

        Each middle part is matched at its leftmost position. This leaves the most text for the next part. Therefore
        the search never has to go back, and its time is linear.
        """
        position, last = self.first.width, self.last
        if last is None:
            return len(text) == position and self.first.matches_at(text, 0)
        end = len(text) - last.width
        if position > end or not self.first.matches_at(text, 0) or not last.matches_at(text, end):
            return False
        for part in self.middle:
            position = part.find_end(text, position, end)
            if position < 0:
                return False
        return True


@dataclass(frozen=True, slots=True)
class ArnPattern:
    """One glob for each of the six segments of an ARN."""

    segments: tuple[Glob, ...]

    def matches(self, arn: str) -> bool:
        parts = arn.split(":", ARN_SEGMENT_COUNT - 1)
        if len(parts) != len(self.segments):
            return False
        return all(segment.matches(part) for segment, part in zip(self.segments, parts, strict=True))


def compile_glob(parts: Iterable[str | Wildcard]) -> Glob:
    parts_between_stars: list[list[str | Wildcard]] = [[]]
    for part in parts:
        if part is Wildcard.ANY_TEXT:
            parts_between_stars.append([])
        else:
            parts_between_stars[-1].append(part)
    first, *rest = (_glob_part(part) for part in parts_between_stars)
    return Glob(first, tuple(rest[:-1]), rest[-1]) if rest else Glob(first)


def string_matcher(parts: ResolvedPattern) -> Matcher:
    glob = compile_glob(parts)
    return glob.matches if glob.only_match is None else glob.only_match.__eq__


def arn_matcher(segments: Sequence[ResolvedPattern]) -> Matcher:
    """Returns a matcher of ARNs. A pattern with fewer than six segments matches nothing."""
    if len(segments) < ARN_SEGMENT_COUNT:
        return _matches_nothing
    globs = tuple(compile_glob(segment) for segment in segments)
    fixed_segments = [glob.only_match for glob in globs[:-1]]
    plain_segments = [text for text in fixed_segments if text is not None and ":" not in text]
    if len(plain_segments) < len(fixed_segments):
        return ArnPattern(globs).matches
    return _prefix_matcher("".join(f"{text}:" for text in plain_segments), string_matcher(segments[-1]))


def compile_pattern(parts: Pattern, make_matcher: Callable[[ResolvedPattern], Matcher]) -> CompiledValue:
    """Compiles a value of a policy. If the value has no variables, its matcher is made only once."""
    if not any(isinstance(part, Variable) for part in parts):
        matcher = make_matcher([part for part in parts if not isinstance(part, Variable)])
        return lambda _: matcher

    def resolve(values: LowercaseContext) -> Matcher | None:
        resolved = substitute(parts, values)
        return None if resolved is None else make_matcher(resolved)

    return resolve


def substitute(parts: Iterable[PatternPart], values: LowercaseContext) -> ResolvedPattern | None:
    """Replaces variables by their values, which become plain text. Returns None if a variable has no value.

    A variable gets its default if the request does not have its key, or if the key is multivalued. Without a default,
    such a variable has no value.
    """
    resolved: ResolvedPattern = []
    for part in parts:
        value = _variable_value(part, values) if isinstance(part, Variable) else part
        if value is None:
            return None
        resolved.append(value)
    return resolved


def parse_wildcards(text: str) -> ResolvedPattern:
    """Parses a text with wildcards. A `${` in the text is plain text."""
    return [part for part in parse_pattern(text, has_variables=False) if not isinstance(part, Variable)]


def pattern_text(parts: Iterable[str | Wildcard]) -> str:
    """Returns the pattern as a text with `*` and `?`."""
    return "".join(part if isinstance(part, str) else part.value for part in parts)


def _variable_value(variable: Variable, values: LowercaseContext) -> str | None:
    value = values.get(variable.key)
    return value if isinstance(value, str) else variable.default


def _glob_part(parts: list[str | Wildcard]) -> GlobPart:
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        text = "".join(texts)
        return FixedText(text, len(text))
    expression = "".join(re.escape(part) if isinstance(part, str) else "." for part in parts)
    width = sum(len(part) if isinstance(part, str) else 1 for part in parts)
    return TextWithQuestionMarks(re.compile(expression, re.DOTALL), width)


def _prefix_matcher(prefix: str, matches_rest: Matcher) -> Matcher:
    """Returns a matcher for a pattern whose first five segments have no wildcards. It is faster than ArnPattern."""
    return lambda arn: arn.startswith(prefix) and matches_rest(arn[len(prefix) :])


def _matches_nothing(_: str) -> bool:
    return False
