"""What came of a page, of a segment, or of a whole pass."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from keyfence.store.codec import Item

_SUMS = 2**128


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Adds up, in whatever order."""

    scanned: int = 0
    """Counted by the pass; no step needs to."""
    changed: int = 0
    wrong: int = 0
    """Still not as it should be: for steps that verify."""
    digest: int = 0
    """The sum of fingerprints."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Whatever else is to be told."""
    units: float = 0.0
    """What its calls consumed."""

    def __add__(self, other: "Done") -> "Done":
        return Done(
            scanned=self.scanned + other.scanned,
            changed=self.changed + other.changed,
            wrong=self.wrong + other.wrong,
            digest=(self.digest + other.digest) % _SUMS,
            counts=Counter(self.counts) + Counter(other.counts),
            units=self.units + other.units,
        )

    @property
    def told(self) -> Mapping[str, int]:
        """What is said of it besides how much was scanned and changed."""
        return {**self.counts, **({"wrong": self.wrong} if self.wrong else {})}


def fingerprint(item: Item) -> int:
    """The same for items that are the same; a sum of them tells sets apart, and how often each item is in one."""
    text = orjson.dumps(_ordered(item), option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(blake2b(text, digest_size=16).digest())


def _ordered(value: Any) -> Any:
    """DynamoDB gives sets in no order."""
    match value:
        case {"SS": list()} | {"NS": list()} | {"BS": list()}:
            return {kind: sorted(parts) for kind, parts in value.items()}
        case dict():
            return {name: _ordered(part) for name, part in value.items()}
        case list():
            return [_ordered(part) for part in value]
    return value
