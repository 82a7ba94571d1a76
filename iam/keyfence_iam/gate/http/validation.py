"""What the texts and numbers of a request must satisfy, and how AWS says that they do not."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from keyfence_iam.gate.http.query_protocol import QueryError, validation_error

_TAG_SIGNS = frozenset("_.:/=+-@")


@dataclass(frozen=True, slots=True, kw_only=True)
class StringConstraint:
    """Lengths count characters, not bytes; `pattern` is what the error prints and `fits` what is tested."""

    shortest: int
    longest: int | None
    pattern: str
    fits: Callable[[str], object]

    def violations(self, value: str | None, where: str) -> list[str]:
        if value is None:
            return [f"Value null at '{where}' failed to satisfy constraint: Member must not be null"]
        return [
            f"Value '{value}' at '{where}' failed to satisfy constraint: {broken}" for broken in self._broken(value)
        ]

    def _broken(self, value: str) -> Iterable[str]:
        if (value and not self.fits(value)) or (not value and self.pattern.endswith("+")):
            yield f"Member must satisfy regular expression pattern: {self.pattern}"
        if len(value) < self.shortest:
            yield f"Member must have length greater than or equal to {self.shortest}"
        if self.longest is not None and len(value) > self.longest:
            yield f"Member must have length less than or equal to {self.longest}"


def _tag_text(value: str) -> bool:
    return all(sign in _TAG_SIGNS or unicodedata.category(sign)[0] in "LZN" for sign in value)


_NAME = re.compile(r"[\w+=,.@-]*", re.ASCII).fullmatch

_WHOLE_NAME = re.compile(r"[\w+=,.@-]+", re.ASCII).fullmatch

NAME = StringConstraint(shortest=2, longest=64, pattern=r"[\w+=,.@-]*", fits=_NAME)
EXTERNAL_ID = StringConstraint(
    shortest=2, longest=1224, pattern=r"[\w+=,.@:\/-]*", fits=re.compile(r"[\w+=,.@:/-]*", re.ASCII).fullmatch
)
ARN = StringConstraint(
    shortest=20,
    longest=2048,
    pattern=r"[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+",
    # AWS reads the last range of its own pattern otherwise than it is meant: nothing beyond U+FFFD is taken.
    fits=re.compile("[\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd]+").fullmatch,
)
POLICY = StringConstraint(
    shortest=1,
    longest=2048,
    pattern=r"[\u0009\u000A\u000D\u0020-\u00FF]+",
    fits=re.compile("[\t\n\r\x20-\xff]+").fullmatch,
)
ROLE_NAME = StringConstraint(shortest=1, longest=64, pattern=r"[\w+=,.@-]+", fits=_WHOLE_NAME)
POLICY_NAME = StringConstraint(shortest=1, longest=128, pattern=r"[\w+=,.@-]+", fits=_WHOLE_NAME)
DOCUMENT = StringConstraint(shortest=1, longest=131_072, pattern=POLICY.pattern, fits=POLICY.fits)
TAG_KEY = StringConstraint(shortest=1, longest=128, pattern=r"[\p{L}\p{Z}\p{N}_.:/=+\-@]+", fits=_tag_text)
TAG_VALUE = StringConstraint(shortest=0, longest=256, pattern=r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", fits=_tag_text)


def whole_number(text: str | None) -> int | None:
    """As AWS reads an integer of 32 bits: a plus and leading zeros are fine, a point is not."""
    if text is None:
        return None
    if not text:
        raise QueryError("MalformedInput", "missing value for decimal type")
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text, re.ASCII) or not -(2**31) <= int(text) < 2**31:
        raise QueryError("MalformedInput", f"'{text}' is not an integer")
    return int(text)


def range_violations(number: int | None, where: str, least: int, most: int) -> list[str]:
    if number is None or least <= number <= most:
        return []
    bound = f"greater than or equal to {least}" if number < least else f"less than or equal to {most}"
    return [f"Value '{number}' at '{where}' failed to satisfy constraint: Member must have value {bound}"]


def too_many(members: int, where: str, most: int) -> list[str]:
    if members <= most:
        return []
    return [f"Value at '{where}' failed to satisfy constraint: Member must have length less than or equal to {most}"]


def raise_violations(violations: list[str]) -> None:
    if violations:
        plural = "s" if len(violations) > 1 else ""
        raise validation_error(f"{len(violations)} validation error{plural} detected: {'; '.join(violations)}")
