"""Which session: role, tenant, table access; why there is none."""

from enum import StrEnum
from typing import NamedTuple

from keyfence_iam.roles.names import CONTROL_PLANE, SUSPENDER, TENANT_MIGRATION, TENANT_READ, TENANT_WRITE
from keyfence_iam.tenant import TenantId, parse_tenant_id


class SessionScope(StrEnum):
    """How much of its role a session may use."""

    WHOLE = "whole"
    READ_ONLY = "read-only"
    POOL = "pool"
    SILO = "silo"


class TableAccess(StrEnum):
    """Where a tenant's items lie: in the table that all share, in its own, or in both while it moves."""

    POOL = "pool"
    SILO = "silo"
    BOTH = "both"

    @property
    def profile(self) -> SessionScope:
        """A tenant's role reaches both tables and no more, so that for both it is used whole."""
        return SessionScope.WHOLE if self is TableAccess.BOTH else SessionScope(self.value)


class SessionSpec(NamedTuple):
    """Two that differ in anything never share a session."""

    role: str
    tenant: TenantId | None = None
    profile: SessionScope = SessionScope.WHOLE


def tenant_session(tenant: TenantId, *, writes: bool, placement: TableAccess = TableAccess.POOL) -> SessionSpec:
    return SessionSpec(TENANT_WRITE if writes else TENANT_READ, parse_tenant_id(tenant), placement.profile)


def migration_session(tenant: TenantId, *, placement: TableAccess = TableAccess.POOL) -> SessionSpec:
    """To move or purge what is the tenant's, suspended or not; the migrator alone gets it."""
    return SessionSpec(TENANT_MIGRATION, parse_tenant_id(tenant), placement.profile)


def suspender_session() -> SessionSpec:
    return SessionSpec(SUSPENDER)


def control_plane_session(*, writes: bool) -> SessionSpec:
    return SessionSpec(CONTROL_PLANE, profile=SessionScope.WHOLE if writes else SessionScope.READ_ONLY)


class SessionUnavailable(Exception):
    """There are no credentials for this, and nobody else's are used instead; the text is for the log."""


class StsConnectionLost(SessionUnavailable):
    """The connection to STS was closed under the call, as idle ones are: the next one may well be answered."""


class SessionThrottled(SessionUnavailable):
    """Too many sessions are being asked for just now."""

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        """In seconds."""
