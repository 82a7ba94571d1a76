"""Who is shut out since when, and for how many IAM has room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from keyfence.errors import Throttled
from keyfence_iam.boundary import TenantId
from keyfence_iam.policies.suspension import BadSuspension, suspended

SESSION = timedelta(seconds=3_900)
"""Longer than any session lives: who was shut out before has none left, and is given none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """The tenants whose sessions IAM is told to refuse."""

    since: Mapping[str, datetime] = field(default_factory=dict)
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def tenants(self) -> list[TenantId]:
        return [TenantId(name) for name in sorted(self.since)]


def fitting(since: Mapping[str, datetime], now: datetime) -> dict[str, datetime]:
    """As many as IAM has room for: those who have been shut out longest leave first, but none who may have sessions."""
    newest_first = sorted(since, key=lambda name: since[name], reverse=True)
    while not _fits(newest_first):
        oldest = newest_first.pop()
        if (age := now - since[oldest]) < SESSION:
            wait = int((SESSION - age).total_seconds() * 1000)
            raise Throttled(
                "IAM has no room for more suspensions within the hour; retry later, or revoke the roles' sessions",
                retryAfterMs=wait,
            )
    return {name: since[name] for name in newest_first}


def _fits(tenants: Sequence[str]) -> bool:
    try:
        suspended(map(TenantId, tenants))
    except BadSuspension:
        return False
    return True
