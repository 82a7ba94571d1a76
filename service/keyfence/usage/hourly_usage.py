"""Hourly usage of tenants: items, keys and repository; and what the usage costs."""

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
MOMENT = timedelta(microseconds=1)
LAST_YEAR = 9_000
MILLION = 1_000_000

CONTROL_PLANE = TenantId("-")
"""The tenant under which usage of the service itself is stored. No tenant can have this id."""

SEVERAL = "several"
"""The operation of a request with more than one root field."""

UNKNOWN = "unknown"
"""The operation of a request that was refused or could not be parsed."""

OUTSIDE = "outside"
"""The operation of calls outside requests, such as those of jobs and commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts:
    """Requests that were served, requests that a rate refused, capacity units, and calls that DynamoDB throttled."""

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
    """Usage of a tenant in one hour as one process counted it, by operation.

    Each put replaces the item by one with higher counts, so to repeat a put is safe. `part` tells the items of
    different processes apart."""

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
    """Usage of a tenant by operation. `start` and `end` are whole hours."""

    tenant: TenantId
    start: datetime
    end: datetime
    operations: Mapping[str, UsageCounts] = field(default_factory=dict)

    @property
    def total(self) -> UsageCounts:
        return sum(self.operations.values(), UsageCounts())


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


usage_hours = entity(UsageHour, table=ControlKey("USAGE#{tenant}#{hour:month}", "{hour}#{part}"))

usage_of_month = usage_hours.query("table", range_field="hour")


@dataclass(frozen=True, slots=True)
class UsageRepository:
    """Usage as the control plane writes and reads it. The sessions of tenants cannot."""

    table: Table

    async def put(self, hours: Sequence[UsageHour]) -> None:
        await self.table.put_many(usage_hours, hours)

    async def between(self, tenant: TenantId, start: datetime, end: datetime) -> Usage:
        """Return the usage of every hour that overlaps the time from `start` to `end`."""
        start, end = _whole_hours(start, end)
        operations: defaultdict[str, UsageCounts] = defaultdict(UsageCounts)
        for month in _months(start, end):
            hours = ValueRange(low=start, high=end - HOUR)
            async for hour in self.table.iterate_shards(usage_of_month, between=hours, tenant=tenant, hour=month):
                for operation, counts in hour.operations.items():
                    operations[operation] += counts
        return Usage(tenant=tenant, start=start, end=end, operations=dict(sorted(operations.items())))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices in US dollars for a million request units of an on-demand table of the standard class."""

    region: str
    as_of: date
    read: Decimal
    write: Decimal

    def cost(self, read_units: Decimal | float, write_units: Decimal | float) -> Decimal:
        return (Decimal(read_units) * self.read + Decimal(write_units) * self.write) / MILLION


DEFAULT_PRICES = PriceTable(region="us-east-1", as_of=date(2024, 11, 1), read=Decimal("0.125"), write=Decimal("0.625"))
"""The list prices since the price cut of November 2024."""


def price_table(settings: Settings) -> PriceTable:
    return PriceTable(**settings.prices.model_dump()) if settings.prices else DEFAULT_PRICES
