"""How long advice has to hold before anything is done about it, and how often it is repeated."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from keyfence.traffic.model import Advised
from keyfence.traffic.units import WINDOW
from keyfence_iam.boundary import TenantId

LASTING = timedelta(seconds=WINDOW)
"""Two windows in a row that have no moment in common say the same: a burst is over by then."""

BREAK = timedelta(seconds=WINDOW)
"""Not seen for longer than this, it begins anew."""

QUIET = timedelta(minutes=10)
"""The same is not told, or tried, again before."""

BETWEEN = timedelta(seconds=WINDOW / 3)
"""So often is written down that it is still true."""

KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Turn:
    """What is known after a look, and what it calls for; `worth` the writing if anything."""

    after: Advised
    advise: bool
    grow: bool
    worth: bool = True


def first_seen(tenant: TenantId, collection: str, shards: int, now: datetime) -> Turn:
    made = Advised(
        tenant=tenant,
        collection=collection,
        shards=shards,
        since=now,
        advised_at=now,
        ttl=int((now + KEPT).timestamp()),
        created_at=now,
        updated_at=now,
    )
    return Turn(made, advise=True, grow=False)


def seen_again(before: Advised, shards: int, now: datetime) -> Turn:
    """More than was advised is news at once; growth waits until it has lasted, whatever its size."""
    since = before.since if now - before.updated_at <= BREAK else now
    advise = shards > before.shards or now - before.advised_at >= QUIET
    grow = now - since >= LASTING and (before.grown_at is None or now - before.grown_at >= QUIET)
    after = replace(
        before,
        shards=shards if advise else before.shards,
        since=since,
        advised_at=now if advise else before.advised_at,
        grown_at=now if grow else before.grown_at,
        ttl=int((now + KEPT).timestamp()),
        updated_at=now,
        version=before.version + 1,
    )
    return Turn(after, advise=advise, grow=grow, worth=advise or grow or now - before.updated_at >= BETWEEN)
