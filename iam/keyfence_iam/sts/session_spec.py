"""`SessionSpec`: which session is requested (role, tenant, scope). The errors for a session that cannot be had."""

from enum import StrEnum
from typing import NamedTuple

from keyfence_iam.roles.names import CONTROL_PLANE, SUSPENDER, TENANT_MIGRATION, TENANT_READ, TENANT_WRITE
from keyfence_iam.tenant import TenantId, parse_tenant_id


class SessionScope(StrEnum):
    """How much of its role's permissions a session has."""

    FULL = "full"
    READ_ONLY = "read-only"
    POOL = "pool"
    SILO = "silo"


class TableAccess(StrEnum):
    """Which tables a tenant's session may use: the shared table, the tenant's own, or both during a move."""

    POOL = "pool"
    SILO = "silo"
    BOTH = "both"

    @property
    def scope(self) -> SessionScope:
        """The tenant roles allow exactly these two tables. Access to both therefore needs no session policy."""
        return SessionScope.FULL if self is TableAccess.BOTH else SessionScope(self.value)


class SessionSpec(NamedTuple):
    """Identifies a session in the cache: two different specs never share a session."""

    role: str
    tenant: TenantId | None = None
    scope: SessionScope = SessionScope.FULL


def tenant_session(tenant: TenantId, *, writes: bool, table_access: TableAccess = TableAccess.POOL) -> SessionSpec:
    return SessionSpec(TENANT_WRITE if writes else TENANT_READ, parse_tenant_id(tenant), table_access.scope)


def migration_session(tenant: TenantId, *, table_access: TableAccess = TableAccess.POOL) -> SessionSpec:
    """A session to move or purge a tenant's items, also of a suspended tenant. Only the migrator may assume it."""
    return SessionSpec(TENANT_MIGRATION, parse_tenant_id(tenant), table_access.scope)


def suspender_session() -> SessionSpec:
    return SessionSpec(SUSPENDER)


def control_plane_session(*, writes: bool) -> SessionSpec:
    return SessionSpec(CONTROL_PLANE, scope=SessionScope.FULL if writes else SessionScope.READ_ONLY)


class SessionUnavailable(Exception):
    """There are no credentials for this spec, and no others are used instead. The message is for the log."""


class StsConnectionLost(SessionUnavailable):
    """STS closed the connection during the call, as it does with idle ones. A second call may succeed."""


class SessionThrottled(SessionUnavailable):
    """Too many new sessions are requested. The caller can try again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after
