"""`ScanPass` over a table in segments with checkpoints; repeat until verified; digests."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

import orjson

from keyfence.jobs.job import ScanCheckpoint
from keyfence.store.codec import Item
from keyfence.store.entity import Index
from keyfence.store.keys import Fence
from keyfence.store.scan import ScanPage

_SUMS = 2**128


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
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

    def __add__(self, other: "PassResult") -> "PassResult":
        return PassResult(
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


def item_digest(item: Item) -> int:
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


Step = Callable[[Sequence[Item]], Awaitable[PassResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPass:
    """Every item that is there throughout is given to `step`, once, and again where a worker died before it counted.

    So a step does nothing a second time to an item that it has dealt with."""

    name: str
    step: Step
    inside: Fence | None = None
    """Only items of this fence; of all where it is None."""
    index: Index = "table"
    table: str | None = None
    """Another table than the service's own."""
    whole: bool = False
    """In one piece: for steps that take items away, since an engine may lose its place in a segment by that."""


def advance_checkpoint(segment: ScanCheckpoint, page: ScanPage, done: PassResult, at: datetime) -> ScanCheckpoint:
    """By one page whose items were dealt with."""
    sum_ = _done(segment) + replace(done, scanned=page.scanned)
    return replace(
        segment,
        after=orjson.dumps(page.next_key).decode() if page.next_key else None,
        scanned=sum_.scanned,
        changed=sum_.changed,
        wrong=sum_.wrong,
        digest=f"{sum_.digest:032x}",
        counts=dict(sum_.counts),
        done=page.next_key is None,
        updated_at=at,
        version=segment.version + 1,
    )


def resume_key(segment: ScanCheckpoint) -> Item | None:
    """Where its scan goes on."""
    return orjson.loads(segment.after) if segment.after else None


def sum_checkpoints(segments: Iterable[ScanCheckpoint]) -> PassResult:
    return sum((_done(segment) for segment in segments), start=PassResult())


def _done(segment: ScanCheckpoint) -> PassResult:
    return PassResult(
        scanned=segment.scanned,
        changed=segment.changed,
        wrong=segment.wrong,
        digest=int(segment.digest or "0", 16),
        counts=segment.counts,
    )
