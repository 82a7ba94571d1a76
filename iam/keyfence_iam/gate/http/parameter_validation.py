"""Constraints on the parameters of STS and IAM requests, and the messages of AWS for violations."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keyfence_iam.gate.http.query_protocol import QueryError, validation_error

_TAG_CHARACTERS = frozenset("_.:/=+-@")


@dataclass(frozen=True, slots=True, kw_only=True)
class StringConstraint:
    """A constraint on a string. Lengths are in characters."""

    min_length: int
    max_length: int | None
    pattern: str
    """The regular expression in the message of AWS. Not every one of these expressions is valid in Python."""
    matches: Callable[[str], object]
    """Checks a value that is not empty. Returns False or None if the value does not match the pattern."""

    def violations(self, value: str | None, path: str) -> list[str]:
        """Returns a message for each violation. `path` is the name of the parameter in the messages."""
        if value is None:
            return [f"Value null at '{path}' failed to satisfy constraint: Member must not be null"]
        return [
            f"Value '{value}' at '{path}' failed to satisfy constraint: {requirement}"
            for requirement in self._violated_requirements(value)
        ]

    def _violated_requirements(self, value: str) -> Iterable[str]:
        # An empty value matches a pattern that ends with `*`, and violates a pattern that ends with `+`.
        violates_pattern = not self.matches(value) if value else self.pattern.endswith("+")
        if violates_pattern:
            yield f"Member must satisfy regular expression pattern: {self.pattern}"
        if len(value) < self.min_length:
            yield f"Member must have length greater than or equal to {self.min_length}"
        if self.max_length is not None and len(value) > self.max_length:
            yield f"Member must have length less than or equal to {self.max_length}"


def _is_tag_text(value: str) -> bool:
    return all(char in _TAG_CHARACTERS or unicodedata.category(char)[0] in "LZN" for char in value)


_is_name = re.compile(r"[\w+=,.@-]*", re.ASCII).fullmatch
_is_nonempty_name = re.compile(r"[\w+=,.@-]+", re.ASCII).fullmatch

SESSION_NAME = StringConstraint(min_length=2, max_length=64, pattern=r"[\w+=,.@-]*", matches=_is_name)
EXTERNAL_ID = StringConstraint(
    min_length=2, max_length=1224, pattern=r"[\w+=,.@:\/-]*", matches=re.compile(r"[\w+=,.@:/-]*", re.ASCII).fullmatch
)
ARN = StringConstraint(
    min_length=20,
    max_length=2048,
    pattern=r"[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+",
    # The last range is a mistake of AWS, because \u takes four digits. AWS accepts no character above U+FFFD.
    matches=re.compile("[\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd]+").fullmatch,
)
SESSION_POLICY = StringConstraint(
    min_length=1,
    max_length=2048,
    pattern=r"[\u0009\u000A\u000D\u0020-\u00FF]+",
    matches=re.compile("[\t\n\r\x20-\xff]+").fullmatch,
)
ROLE_NAME = StringConstraint(min_length=1, max_length=64, pattern=r"[\w+=,.@-]+", matches=_is_nonempty_name)
POLICY_NAME = StringConstraint(min_length=1, max_length=128, pattern=r"[\w+=,.@-]+", matches=_is_nonempty_name)
INLINE_POLICY = StringConstraint(
    min_length=1, max_length=131_072, pattern=SESSION_POLICY.pattern, matches=SESSION_POLICY.matches
)
TAG_KEY = StringConstraint(min_length=1, max_length=128, pattern=r"[\p{L}\p{Z}\p{N}_.:/=+\-@]+", matches=_is_tag_text)
TAG_VALUE = StringConstraint(min_length=0, max_length=256, pattern=r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", matches=_is_tag_text)


def parse_integer(text: str | None) -> int | None:
    """Parses a 32-bit integer as AWS does: a plus sign and leading zeros are allowed.

    Returns None if `text` is None. Raises QueryError if the text is not a 32-bit integer.
    """
    if text is None:
        return None
    if not text:
        raise QueryError("MalformedInput", "missing value for decimal type")
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text, re.ASCII) or not -(2**31) <= int(text) < 2**31:
        raise QueryError("MalformedInput", f"'{text}' is not an integer")
    return int(text)


def range_violations(number: int | None, path: str, minimum: int, maximum: int) -> list[str]:
    if number is None or minimum <= number <= maximum:
        return []
    bound = f"greater than or equal to {minimum}" if number < minimum else f"less than or equal to {maximum}"
    return [f"Value '{number}' at '{path}' failed to satisfy constraint: Member must have value {bound}"]


def length_violations(length: int, path: str, maximum: int) -> list[str]:
    if length <= maximum:
        return []
    return [f"Value at '{path}' failed to satisfy constraint: Member must have length less than or equal to {maximum}"]


def raise_violations(violations: list[str]) -> None:
    """Raises QueryError with these messages if there are any."""
    if violations:
        plural = "s" if len(violations) > 1 else ""
        raise validation_error(f"{len(violations)} validation error{plural} detected: {'; '.join(violations)}")
