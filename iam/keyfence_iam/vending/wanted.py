"""What a session is wanted for, which is also the key under which it is kept."""

from enum import StrEnum
from typing import NamedTuple

from keyfence_iam.boundary import TenantId, tenant_id
from keyfence_iam.policies.names import CONTROL_PLANE, TENANT_MIGRATION, TENANT_READ, TENANT_WRITE, WARDEN


class Profile(StrEnum):
    """How much of its role a session may use."""

    WHOLE = "whole"
    READ_ONLY = "read-only"
    POOL = "pool"
    SILO = "silo"


class Placement(StrEnum):
    """Where a tenant's items lie: in the table that all share, in its own, or in both while it moves."""

    POOL = "pool"
    SILO = "silo"
    BOTH = "both"

    @property
    def profile(self) -> Profile:
        """A tenant's role reaches both tables and no more, so that for both it is used whole."""
        return Profile.WHOLE if self is Placement.BOTH else Profile(self.value)


class Wanted(NamedTuple):
    """Two that differ in anything never share a session."""

    role: str
    tenant: TenantId | None = None
    profile: Profile = Profile.WHOLE


def of_tenant(tenant: TenantId, *, writes: bool, placement: Placement = Placement.POOL) -> Wanted:
    return Wanted(TENANT_WRITE if writes else TENANT_READ, tenant_id(tenant), placement.profile)


def of_migration(tenant: TenantId, *, placement: Placement = Placement.POOL) -> Wanted:
    """To move or purge what is the tenant's, suspended or not; the migrator alone gets it."""
    return Wanted(TENANT_MIGRATION, tenant_id(tenant), placement.profile)


def of_warden() -> Wanted:
    return Wanted(WARDEN)


def of_control_plane(*, writes: bool) -> Wanted:
    return Wanted(CONTROL_PLANE, profile=Profile.WHOLE if writes else Profile.READ_ONLY)
