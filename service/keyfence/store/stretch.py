"""A stretch of a partition: which of its sort keys a Query reads."""

from collections.abc import Mapping
from dataclasses import dataclass

from keyfence.store.codec import Value

NEXT = chr(ord("#") + 1)
"""What follows every key that goes on after a rendered segment, since segments are joined by '#'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From one value to another, both included; an end that is not given is open."""

    low: object = None
    high: object = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Everything that begins with a text, or lies between two texts where one of them is given."""

    prefix: str = ""
    low: str = ""
    high: str = ""

    @property
    def empty(self) -> bool:
        """DynamoDB refuses a range that is the wrong way round instead of finding nothing in it."""
        return bool(self.high) and self.low.encode() > self.high.encode()

    def condition(self) -> tuple[str, Mapping[str, Value]]:
        """What is asked of the sort key `#s`, with its values; nothing where all of the partition is read."""
        if self.low and self.high:
            return " AND #s BETWEEN :low AND :high", {":low": {"S": self.low}, ":high": {"S": self.high}}
        if self.low:
            return " AND #s >= :low", {":low": {"S": self.low}}
        if self.high:
            return " AND #s <= :high", {":high": {"S": self.high}}
        if self.prefix:
            return " AND begins_with(#s, :s)", {":s": {"S": self.prefix}}
        return "", {}


def after_all(prefix: str) -> str:
    """The first text behind everything that begins with this prefix, which ends in '#' or is empty."""
    return prefix[:-1] + NEXT if prefix else ""
