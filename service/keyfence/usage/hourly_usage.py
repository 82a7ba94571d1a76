"""`UsageHour`: the usage of a tenant in one hour, with its keys and repository. `PriceTable`: what the usage costs."""

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
"""How long usage is stored: a little more than a year."""

HOUR = timedelta(hours=1)
SHORTEST_TIME = timedelta(microseconds=1)
"""The smallest difference between two datetimes."""

LAST_YEAR = 9_000
"""Later times are refused: a calculation with them could exceed the largest datetime, in the year 9999."""

MILLION = 1_000_000

CONTROL_PLANE = TenantId("-")
"""The tenant under which usage of the service itself is stored. No tenant can have this id."""

SEVERAL_FIELDS = "several"
"""The operation of a request with more than one root field."""

UNKNOWN_OPERATION = "unknown"
"""The operation of a request that was refused or could not be parsed."""

OUTSIDE_REQUESTS = "outside"
"""The operation of DynamoDB calls that belong to no request, such as the calls of jobs and commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts:
    """The usage of one operation, or of several together."""

    requests: int = 0
    """Requests that were served."""
    refused: int = 0
    """Requests that were refused because the tenant was over a quota."""
    read_units: Decimal = Decimal(0)
    write_units: Decimal = Decimal(0)
    throttled_calls: int = 0
    """Calls that DynamoDB throttled."""

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
    """The usage of a tenant in one hour, as one process counted it.

    When the counts have grown, the process replaces the whole item. So a repeated write does no harm."""

    tenant: TenantId
    hour: datetime
    writer_id: str
    """Differs between processes, so that they do not overwrite the items of each other."""
    ttl: int
    created_at: datetime
    updated_at: datetime
    operations: Mapping[str, UsageCounts] = field(default_factory=dict)
    """Counts by the name of the operation."""
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of a tenant between two times, by operation. `start` and `end` are whole hours."""

    tenant: TenantId
    start: datetime
    end: datetime
    operations: Mapping[str, UsageCounts] = field(default_factory=dict)

    @property
    def total(self) -> UsageCounts:
        return sum(self.operations.values(), UsageCounts())


def hour_of(time: datetime) -> datetime:
    """Returns the beginning of the hour."""
    return time.replace(minute=0, second=0, microsecond=0)


usage_hours = entity(UsageHour, table=ControlKey("USAGE#{tenant}#{hour:month}", "{hour}#{writer_id}"))

usage_of_month = usage_hours.query("table", range_field="hour")


@dataclass(frozen=True, slots=True)
class UsageRepository:
    """Stores and reads usage in the control plane. Sessions of tenants have no access to it."""

    table: Table

    async def put(self, hours: Sequence[UsageHour]) -> None:
        await self.table.put_many(usage_hours, hours)

    async def sum_hours(self, tenant: TenantId, start: datetime, end: datetime) -> Usage:
        """Returns the usage of all hours that overlap the time from `start` to `end`."""
        start, end = _whole_hours(start, end)
        counts_by_operation: defaultdict[str, UsageCounts] = defaultdict(UsageCounts)
        for month in _months(start, end):
            hours = ValueRange(low=start, high=end - HOUR)
            async for hour in self.table.iterate_shards(usage_of_month, between=hours, tenant=tenant, hour=month):
                for operation, counts in hour.operations.items():
                    counts_by_operation[operation] += counts
        return Usage(tenant=tenant, start=start, end=end, operations=dict(sorted(counts_by_operation.items())))


def _whole_hours(start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """Returns the beginning of the first hour and the end of the last hour, in UTC. Raises BadInput for wrong times."""
    if start.tzinfo is None or end.tzinfo is None:
        raise BadInput("from and to need a time zone", field="from")
    if not SHORTEST_TIME <= end - start <= RETENTION:
        raise BadInput(f"to must be after from, by at most {RETENTION.days} days", field="to")
    if end.year > LAST_YEAR:
        raise BadInput(f"to must be before the year {LAST_YEAR + 1}", field="to")
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    return hour_of(start), hour_of(end - SHORTEST_TIME) + HOUR


def _months(start: datetime, end: datetime) -> Iterator[datetime]:
    month = start.replace(day=1, hour=0)
    while month < end:
        yield month
        some_day_of_next_month = month + timedelta(days=32)
        month = some_day_of_next_month.replace(day=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """The prices of an on-demand table of the standard class, in US dollars for a million request units."""

    region: str
    as_of: date
    read: Decimal
    write: Decimal

    def cost(self, read_units: Decimal | float, write_units: Decimal | float) -> Decimal:
        """Returns the cost in US dollars."""
        return (Decimal(read_units) * self.read + Decimal(write_units) * self.write) / MILLION


DEFAULT_PRICES = PriceTable(region="us-east-1", as_of=date(2024, 11, 1), read=Decimal("0.125"), write=Decimal("0.625"))
"""The list prices since the price cut of November 2024."""


def price_table(settings: Settings) -> PriceTable:
    return PriceTable(**settings.prices.model_dump()) if settings.prices else DEFAULT_PRICES
