"""`TenantStatus`, and which status can follow which."""

from collections.abc import Mapping
from enum import StrEnum

from keyfence.errors import Conflict


class TenantStatus(StrEnum):
    """The life cycle of a tenant. Only an ACTIVE tenant is served."""

    PROVISIONING = "PROVISIONING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    OFFBOARDING = "OFFBOARDING"
    OFFBOARDED = "OFFBOARDED"


TRANSITIONS: Mapping[TenantStatus, frozenset[TenantStatus]] = {
    TenantStatus.PROVISIONING: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.ACTIVE: frozenset({TenantStatus.SUSPENDED, TenantStatus.OFFBOARDING}),
    TenantStatus.SUSPENDED: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.OFFBOARDING: frozenset({TenantStatus.OFFBOARDED}),
    TenantStatus.OFFBOARDED: frozenset(),
}


def check_transition(before: TenantStatus, after: TenantStatus) -> None:
    if after not in TRANSITIONS[before]:
        allowed = sorted(TRANSITIONS[before])
        ways = f"it can become {' or '.join(allowed)}" if allowed else "that is the end"
        raise Conflict(f"the tenant is {before} and cannot become {after}: {ways}", allowed=allowed)
