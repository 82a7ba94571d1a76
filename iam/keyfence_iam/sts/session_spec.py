"""`SessionSpec`: the role, tenant and scope of a session. `SessionUnavailable`: the error if there is no session."""

from enum import StrEnum
from typing import NamedTuple

from keyfence_iam.roles.names import CONTROL_PLANE, SUSPENDER, TENANT_MIGRATION, TENANT_READ, TENANT_WRITE
from keyfence_iam.tenant import TenantId, parse_tenant_id


class SessionScope(StrEnum):
    """The permissions of a session. FULL means all permissions of its role. A session policy limits other scopes."""

    FULL = "full"
    READ_ONLY = "read-only"
    POOL = "pool"
    """Only the shared table."""
    SILO = "silo"
    """Only the tenant's own table."""


class TableAccess(StrEnum):
    """Which tables a tenant's session may use: the shared table, the tenant's own, or both during a move."""

    POOL = "pool"
    SILO = "silo"
    BOTH = "both"

    @property
    def scope(self) -> SessionScope:
        """The scope of the session. It is FULL for both tables, because the tenant roles allow exactly these tables."""
        return SessionScope.FULL if self is TableAccess.BOTH else SessionScope(self.value)


class SessionSpec(NamedTuple):
    """Identifies a session in the cache: two different specs never share a session."""

    role: str
    tenant: TenantId | None = None
    scope: SessionScope = SessionScope.FULL


def tenant_session(tenant: TenantId, *, may_write: bool, table_access: TableAccess = TableAccess.POOL) -> SessionSpec:
    return SessionSpec(TENANT_WRITE if may_write else TENANT_READ, parse_tenant_id(tenant), table_access.scope)


def migration_session(tenant: TenantId, *, table_access: TableAccess = TableAccess.POOL) -> SessionSpec:
    """Returns the spec of a session that moves or deletes a tenant's items, even if the tenant is suspended.

    Only the migrator, the role of processes that run jobs, may assume the role of this session.
    """
    return SessionSpec(TENANT_MIGRATION, parse_tenant_id(tenant), table_access.scope)


def suspender_session() -> SessionSpec:
    return SessionSpec(SUSPENDER)


def control_plane_session(*, may_write: bool) -> SessionSpec:
    return SessionSpec(CONTROL_PLANE, scope=SessionScope.FULL if may_write else SessionScope.READ_ONLY)


class SessionUnavailable(Exception):
    """STS did not issue a session, or could not be called. The call that needs the session fails: no other credentials
    are used instead.

    A later request may succeed, unless the error is a SessionRefused. The message is for the log, not for the users of
    the API.
    """


class SessionRefused(SessionUnavailable):
    """STS refuses the session, or a bug prevents the request. Somebody must change the deployment or the code."""


class StsConnectionLost(SessionUnavailable):
    """STS closed the connection during the call. STS also closes idle connections, so a second call may succeed."""


class SessionThrottled(SessionUnavailable):
    """Too many sessions are requested. The caller can try again after `retry_after_seconds`."""

    def __init__(self, message: str, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
