"""Constraints on the parameters of STS and IAM requests, with AWS's messages for violations."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keyfence_iam.gate.http.query_protocol import QueryError, validation_error

_TAG_CHARACTERS = frozenset("_.:/=+-@")


@dataclass(frozen=True, slots=True, kw_only=True)
class StringConstraint:
    """Lengths are in characters. `pattern` is printed in the message, `matches` is the check."""

    min_length: int
    max_length: int | None
    pattern: str
    matches: Callable[[str], object]

    def violations(self, value: str | None, path: str) -> list[str]:
        if value is None:
            return [f"Value null at '{path}' failed to satisfy constraint: Member must not be null"]
        return [
            f"Value '{value}' at '{path}' failed to satisfy constraint: {broken}"
            for broken in self._broken_constraints(value)
        ]

    def _broken_constraints(self, value: str) -> Iterable[str]:
        if (value and not self.matches(value)) or (not value and self.pattern.endswith("+")):
            yield f"Member must satisfy regular expression pattern: {self.pattern}"
        if len(value) < self.min_length:
            yield f"Member must have length greater than or equal to {self.min_length}"
        if self.max_length is not None and len(value) > self.max_length:
            yield f"Member must have length less than or equal to {self.max_length}"


def _is_tag_text(value: str) -> bool:
    return all(char in _TAG_CHARACTERS or unicodedata.category(char)[0] in "LZN" for char in value)


_NAME = re.compile(r"[\w+=,.@-]*", re.ASCII).fullmatch
_NONEMPTY_NAME = re.compile(r"[\w+=,.@-]+", re.ASCII).fullmatch

NAME = StringConstraint(min_length=2, max_length=64, pattern=r"[\w+=,.@-]*", matches=_NAME)
EXTERNAL_ID = StringConstraint(
    min_length=2, max_length=1224, pattern=r"[\w+=,.@:\/-]*", matches=re.compile(r"[\w+=,.@:/-]*", re.ASCII).fullmatch
)
ARN = StringConstraint(
    min_length=20,
    max_length=2048,
    pattern=r"[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+",
    # AWS does not interpret the last range of its own pattern as intended: it accepts nothing above U+FFFD.
    matches=re.compile("[\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd]+").fullmatch,
)
POLICY = StringConstraint(
    min_length=1,
    max_length=2048,
    pattern=r"[\u0009\u000A\u000D\u0020-\u00FF]+",
    matches=re.compile("[\t\n\r\x20-\xff]+").fullmatch,
)
ROLE_NAME = StringConstraint(min_length=1, max_length=64, pattern=r"[\w+=,.@-]+", matches=_NONEMPTY_NAME)
POLICY_NAME = StringConstraint(min_length=1, max_length=128, pattern=r"[\w+=,.@-]+", matches=_NONEMPTY_NAME)
DOCUMENT = StringConstraint(min_length=1, max_length=131_072, pattern=POLICY.pattern, matches=POLICY.matches)
TAG_KEY = StringConstraint(min_length=1, max_length=128, pattern=r"[\p{L}\p{Z}\p{N}_.:/=+\-@]+", matches=_is_tag_text)
TAG_VALUE = StringConstraint(min_length=0, max_length=256, pattern=r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", matches=_is_tag_text)


def whole_number(text: str | None) -> int | None:
    """Parses a 32-bit integer as AWS does: a plus sign and leading zeros are allowed, a decimal point is not."""
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


def too_many(members: int, path: str, maximum: int) -> list[str]:
    if members <= maximum:
        return []
    return [f"Value at '{path}' failed to satisfy constraint: Member must have length less than or equal to {maximum}"]


def raise_violations(violations: list[str]) -> None:
    if violations:
        plural = "s" if len(violations) > 1 else ""
        raise validation_error(f"{len(violations)} validation error{plural} detected: {'; '.join(violations)}")
