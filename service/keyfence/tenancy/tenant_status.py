"""`TenantStatus`: the life cycle of a tenant, and the allowed transitions from one status to another."""

from collections.abc import Mapping
from enum import StrEnum

from keyfence.errors import Conflict


class TenantStatus(StrEnum):
    """The life cycle of a tenant. Only requests of an ACTIVE tenant are served."""

    PROVISIONING = "PROVISIONING"
    """The id and the issuer are reserved. The owner is not stored yet."""
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    OFFBOARDING = "OFFBOARDING"
    """A job exports the tenant's items and deletes them."""
    OFFBOARDED = "OFFBOARDED"
    """All items are deleted. The id is never used again."""


TRANSITIONS: Mapping[TenantStatus, frozenset[TenantStatus]] = {
    TenantStatus.PROVISIONING: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.ACTIVE: frozenset({TenantStatus.SUSPENDED, TenantStatus.OFFBOARDING}),
    TenantStatus.SUSPENDED: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.OFFBOARDING: frozenset({TenantStatus.OFFBOARDED}),
    TenantStatus.OFFBOARDED: frozenset(),
}
"""The statuses that may follow each status."""


def check_transition(before: TenantStatus, after: TenantStatus) -> None:
    """Raises Conflict if a tenant must not change from the status `before` to the status `after`."""
    if after not in TRANSITIONS[before]:
        allowed = sorted(TRANSITIONS[before])
        possible = f"it can become {' or '.join(allowed)}" if allowed else "this status is final"
        raise Conflict(f"the tenant is {before} and cannot become {after}: {possible}", allowed=allowed)
