"""How segments move on, and what they come to together."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import orjson

from keyfence.migrations.done import Done
from keyfence.store.codec import Item
from keyfence.store.sweep import Swept
from keyfence.tenancy.segment import Segment


def advanced(segment: Segment, page: Swept, done: Done, at: datetime) -> Segment:
    """By one page whose items were dealt with."""
    sum_ = _done(segment) + replace(done, scanned=page.scanned)
    return replace(
        segment,
        after=orjson.dumps(page.then).decode() if page.then else None,
        scanned=sum_.scanned,
        changed=sum_.changed,
        wrong=sum_.wrong,
        digest=f"{sum_.digest:032x}",
        counts=dict(sum_.counts),
        done=page.then is None,
        updated_at=at,
        version=segment.version + 1,
    )


def place(segment: Segment) -> Item | None:
    """Where its scan goes on."""
    return orjson.loads(segment.after) if segment.after else None


def total(segments: Iterable[Segment]) -> Done:
    return sum((_done(segment) for segment in segments), start=Done())


def _done(segment: Segment) -> Done:
    return Done(
        scanned=segment.scanned,
        changed=segment.changed,
        wrong=segment.wrong,
        digest=int(segment.digest or "0", 16),
        counts=segment.counts,
    )
