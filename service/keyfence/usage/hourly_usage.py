"""`UsageHour` items, their keys, their repository, the price table."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from keyfence.errors import BadInput
from keyfence.settings import Settings
from keyfence.store.entity import entity
from keyfence.store.keys import ControlKey, ValueRange
from keyfence.store.table import Table
from keyfence_iam.tenant import TenantId

RETENTION = timedelta(days=400)
HOUR = timedelta(hours=1)

CONTROL_PLANE = TenantId("-")
"""What the service uses for itself is kept under a name that no tenant can have."""

SEVERAL = "several"
UNKNOWN = "unknown"
OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts:
    """Requests that were served and those that a rate refused; units, and calls that DynamoDB throttled."""

    requests: int = 0
    refused: int = 0
    read_units: Decimal = Decimal(0)
    write_units: Decimal = Decimal(0)
    throttled_calls: int = 0

    def __add__(self, other: "UsageCounts") -> "UsageCounts":
        return UsageCounts(
            requests=self.requests + other.requests,
            refused=self.refused + other.refused,
            read_units=self.read_units + other.read_units,
            write_units=self.write_units + other.write_units,
            throttled_calls=self.throttled_calls + other.throttled_calls,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageHour:
    """All that one part of one process has counted for a tenant in an hour, by operation.

    It is put again with higher numbers until the hour is over, so that putting it twice changes nothing."""

    tenant: TenantId
    hour: datetime
    part: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    operations: Mapping[str, UsageCounts] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Of a tenant in whole hours, from the beginning of one to the end of another."""

    tenant: TenantId
    start: datetime
    end: datetime
    operations: Mapping[str, UsageCounts] = field(default_factory=dict)

    @property
    def total(self) -> UsageCounts:
        return sum(self.operations.values(), UsageCounts())


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


usage_hours = entity(UsageHour, table=ControlKey("USAGE#{tenant}#{hour:month}", "{hour}#{part}"))

usage_of_month = usage_hours.query("table", range_field="hour")


MOMENT = timedelta(microseconds=1)
LAST_YEAR = 9_000


@dataclass(frozen=True, slots=True)
class UsageRepository:
    """Written and read by the control plane; no tenant reaches it."""

    table: Table

    async def put(self, hours: Sequence[UsageHour]) -> None:
        await self.table.put_many(usage_hours, hours)

    async def between(self, tenant: TenantId, start: datetime, end: datetime) -> Usage:
        """Every hour that the span touches: the answer tells from when to when that is."""
        start, end = _whole_hours(start, end)
        found: defaultdict[str, UsageCounts] = defaultdict(UsageCounts)
        for month in _months(start, end):
            span = ValueRange(low=start, high=end - HOUR)
            async for hour in self.table.iterate_shards(usage_of_month, between=span, tenant=tenant, hour=month):
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


MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """US dollars for a million request units, on demand, standard table class."""

    region: str
    as_of: date
    read: Decimal
    write: Decimal

    def of(self, read_units: Decimal | float, write_units: Decimal | float) -> Decimal:
        return (Decimal(read_units) * self.read + Decimal(write_units) * self.write) / MILLION


LISTED = PriceTable(region="us-east-1", as_of=date(2024, 11, 1), read=Decimal("0.125"), write=Decimal("0.625"))
"""As listed since DynamoDB's on-demand throughput became cheaper."""


def price_table(settings: Settings) -> PriceTable:
    return PriceTable(**settings.prices.model_dump()) if settings.prices else LISTED
