"""The quotas of each tier, and quotas that were set for a single tenant."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from keyfence.errors import BadInput
from keyfence.store.codec import attribute_name

MAX_QUOTA = 1_000_000_000
"""The largest value of any quota. It fits into the 32-bit integers of GraphQL."""


class Tier(StrEnum):
    """The service plan of a tenant. It determines the tenant's quotas."""

    FREE = "FREE"
    STANDARD = "STANDARD"
    PREMIUM = "PREMIUM"
    ENTERPRISE = "ENTERPRISE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How much one tenant may use. Rates are for all servers together. No quota is shared between tenants."""

    requests_per_second: int
    read_units_per_second: int
    write_units_per_second: int
    cpu_ms_per_second: int
    """CPU time for parsing and validating requests. The first millisecond of each request is free."""
    users: int
    storage_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaOverrides:
    """Quotas of one tenant that replace the quotas of its tier. None: the quota of the tier applies.

    Overrides stay when the tier changes."""

    requests_per_second: int | None = None
    read_units_per_second: int | None = None
    write_units_per_second: int | None = None
    cpu_ms_per_second: int | None = None
    users: int | None = None
    storage_mb: int | None = None


NO_OVERRIDES = QuotaOverrides()

TIER_QUOTAS: Mapping[Tier, Quotas] = {
    Tier.FREE: Quotas(
        requests_per_second=20,
        read_units_per_second=100,
        write_units_per_second=50,
        cpu_ms_per_second=5,
        users=10,
        storage_mb=100,
    ),
    Tier.STANDARD: Quotas(
        requests_per_second=200,
        read_units_per_second=1_000,
        write_units_per_second=500,
        cpu_ms_per_second=10,
        users=500,
        storage_mb=10_000,
    ),
    Tier.PREMIUM: Quotas(
        requests_per_second=2_000,
        read_units_per_second=10_000,
        write_units_per_second=5_000,
        cpu_ms_per_second=20,
        users=10_000,
        storage_mb=100_000,
    ),
    Tier.ENTERPRISE: Quotas(
        requests_per_second=10_000,
        read_units_per_second=50_000,
        write_units_per_second=25_000,
        cpu_ms_per_second=50,
        users=100_000,
        storage_mb=1_000_000,
    ),
}


def quotas_of(tier: Tier, overrides: QuotaOverrides) -> Quotas:
    values = {field.name: getattr(overrides, field.name) for field in fields(overrides)}
    return replace(TIER_QUOTAS[tier], **{name: value for name, value in values.items() if value is not None})


def with_overrides(overrides: QuotaOverrides, changes: Mapping[str, int]) -> QuotaOverrides:
    """Returns the overrides with other values. `changes` contains the new values by field name.

    Raises BadInput if a value is not from 1 to `MAX_QUOTA`."""
    for name, value in changes.items():
        if not 1 <= value <= MAX_QUOTA:
            raise BadInput(f"{attribute_name(name)} must be from 1 to {MAX_QUOTA:,}", field=attribute_name(name))
    return replace(overrides, **changes)
