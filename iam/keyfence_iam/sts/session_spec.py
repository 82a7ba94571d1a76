"""Which session: role, tenant, table access; why there is none."""

from enum import StrEnum
from typing import NamedTuple

from keyfence_iam.roles.names import CONTROL_PLANE, TENANT_MIGRATION, TENANT_READ, TENANT_WRITE, WARDEN
from keyfence_iam.tenant import TenantId, tenant_id


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


class NoSession(Exception):
    """There are no credentials for this, and nobody else's are used instead; the text is for the log."""


class CutOff(NoSession):
    """The connection to STS was closed under the call, as idle ones are: the next one may well be answered."""


class OverBudget(NoSession):
    """Too many sessions are being asked for just now."""

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        """In seconds."""
