"""What was used in an hour, as it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from keyfence_iam.boundary import TenantId

RETENTION = timedelta(days=400)
HOUR = timedelta(hours=1)

CONTROL_PLANE = TenantId("-")
"""What the service uses for itself is kept under a name that no tenant can have."""

SEVERAL = "several"
UNKNOWN = "unknown"
OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Requests that were served and those that a rate refused; units, and calls that DynamoDB throttled."""

    requests: int = 0
    refused: int = 0
    read_units: Decimal = Decimal(0)
    write_units: Decimal = Decimal(0)
    throttled_calls: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
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
    operations: Mapping[str, Counts] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Of a tenant in whole hours, from the beginning of one to the end of another."""

    tenant: TenantId
    start: datetime
    end: datetime
    operations: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def total(self) -> Counts:
        return sum(self.operations.values(), Counts())


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
