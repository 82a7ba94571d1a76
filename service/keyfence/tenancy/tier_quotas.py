"""Quotas of tenants: those of the tier, and overrides for single tenants."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from keyfence.errors import BadInput
from keyfence.store.codec import attribute_name

LARGEST = 1_000_000_000


class Tier(StrEnum):
    """The plan of a tenant, which sets its default quotas."""

    FREE = "FREE"
    STANDARD = "STANDARD"
    PREMIUM = "PREMIUM"
    ENTERPRISE = "ENTERPRISE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Bounds of one tenant; no two tenants ever share any of it."""

    requests_per_second: int
    read_units_per_second: int
    write_units_per_second: int
    users: int
    storage_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaOverrides:
    """Quotas of one tenant that replace those of its tier. They stay when the tier changes."""

    requests_per_second: int | None = None
    read_units_per_second: int | None = None
    write_units_per_second: int | None = None
    users: int | None = None
    storage_mb: int | None = None


NO_OVERRIDES = QuotaOverrides()

TIER_QUOTAS: Mapping[Tier, Quotas] = {
    Tier.FREE: Quotas(
        requests_per_second=20, read_units_per_second=100, write_units_per_second=50, users=10, storage_mb=100
    ),
    Tier.STANDARD: Quotas(
        requests_per_second=200, read_units_per_second=1_000, write_units_per_second=500, users=500, storage_mb=10_000
    ),
    Tier.PREMIUM: Quotas(
        requests_per_second=2_000,
        read_units_per_second=10_000,
        write_units_per_second=5_000,
        users=10_000,
        storage_mb=100_000,
    ),
    Tier.ENTERPRISE: Quotas(
        requests_per_second=10_000,
        read_units_per_second=50_000,
        write_units_per_second=25_000,
        users=100_000,
        storage_mb=1_000_000,
    ),
}


def quotas_of(tier: Tier, overrides: QuotaOverrides) -> Quotas:
    return replace(TIER_QUOTAS[tier], **_given(overrides))


def with_overrides(overrides: QuotaOverrides, changes: Mapping[str, int]) -> QuotaOverrides:
    """`changes` by the names of the fields; each has to be a number that a tenant can live with."""
    for name, value in changes.items():
        if not 1 <= value <= LARGEST:
            raise BadInput(f"{attribute_name(name)} must be from 1 to {LARGEST:,}", field=attribute_name(name))
    return replace(overrides, **changes)


def _given(overrides: QuotaOverrides) -> dict[str, int]:
    values = {one.name: getattr(overrides, one.name) for one in fields(overrides)}
    return {name: value for name, value in values.items() if value is not None}
