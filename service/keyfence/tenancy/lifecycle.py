"""The states of a tenant and the ways between them."""

from collections.abc import Mapping
from enum import StrEnum

from keyfence.errors import Conflict


class TenantStatus(StrEnum):
    """Where a tenant stands; only an ACTIVE one is served."""

    PROVISIONING = "PROVISIONING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    OFFBOARDING = "OFFBOARDING"
    OFFBOARDED = "OFFBOARDED"


NEXT: Mapping[TenantStatus, frozenset[TenantStatus]] = {
    TenantStatus.PROVISIONING: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.ACTIVE: frozenset({TenantStatus.SUSPENDED, TenantStatus.OFFBOARDING}),
    TenantStatus.SUSPENDED: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.OFFBOARDING: frozenset({TenantStatus.OFFBOARDED}),
    TenantStatus.OFFBOARDED: frozenset(),
}


def check_step(before: TenantStatus, after: TenantStatus) -> None:
    if after not in NEXT[before]:
        allowed = sorted(NEXT[before])
        ways = f"it can become {' or '.join(allowed)}" if allowed else "that is the end"
        raise Conflict(f"the tenant is {before} and cannot become {after}: {ways}", allowed=allowed)
