"""Usage as it was written down, by all processes together."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from keyfence.errors import BadInput
from keyfence.store.stretch import Span
from keyfence.store.table import Table
from keyfence.usage.access import usage_hours, usage_of_month
from keyfence.usage.model import HOUR, RETENTION, Counts, Usage, UsageHour, hour_of
from keyfence_iam.boundary import TenantId

MOMENT = timedelta(microseconds=1)
LAST_YEAR = 9_000


@dataclass(frozen=True, slots=True)
class Usages:
    """Written and read by the control plane; no tenant reaches it."""

    table: Table

    async def put(self, hours: Sequence[UsageHour]) -> None:
        await self.table.put_many(usage_hours, hours)

    async def between(self, tenant: TenantId, start: datetime, end: datetime) -> Usage:
        """Every hour that the span touches: the answer tells from when to when that is."""
        start, end = _whole_hours(start, end)
        found: defaultdict[str, Counts] = defaultdict(Counts)
        for month in _months(start, end):
            span = Span(low=start, high=end - HOUR)
            async for hour in self.table.every(usage_of_month, span=span, tenant=tenant, hour=month):
                for operation, counts in hour.operations.items():
                    found[operation] += counts
        return Usage(tenant=tenant, start=start, end=end, operations=dict(sorted(found.items())))


def _whole_hours(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    if start.tzinfo is None or end.tzinfo is None:
        raise BadInput("from and to need a time zone", field="from")
    if not MOMENT <= end - start <= RETENTION:
        raise BadInput(f"to must be after from, by at most {RETENTION.days} days", field="to")
    if end.year > LAST_YEAR:
        raise BadInput(f"to must be before the year {LAST_YEAR + 1}", field="to")
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    return hour_of(start), hour_of(end - MOMENT) + HOUR


def _months(start: datetime, end: datetime) -> Iterator[datetime]:
    month = start.replace(day=1, hour=0)
    while month < end:
        yield month
        month = (month + timedelta(days=32)).replace(day=1)
