"""Becoming somebody of the local AWS without asking a running gate: its key is enough."""

from keyfence_iam.gate.account.session import IssuedSession, SessionIssuer
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.roles.names import CONTROL_PLANE, SERVICE_BASE, SUSPENDER, TENANT_READ, TENANT_WRITE
from keyfence_iam.tenant import SESSION_TAG, TenantId

NAME = "local"
SECONDS = 900


def tenant_session(sessions: SessionIssuer, tenant: TenantId, *, writes: bool, seconds: int = SECONDS) -> IssuedSession:
    """As the service becomes that tenant: by its own role, and only if the tenant's role trusts it."""
    role = TENANT_WRITE if writes else TENANT_READ
    return _assumed(sessions, role, {SESSION_TAG: tenant}, seconds)


def role_session(sessions: SessionIssuer, name: str, *, seconds: int = SECONDS) -> IssuedSession:
    """As the process that runs as this role; the control plane and the suspender are those that the service becomes."""
    if name in {CONTROL_PLANE, SUSPENDER}:
        return _assumed(sessions, name, {}, seconds)
    return sessions.issue_service_session(name, name=NAME, seconds=seconds)


def _assumed(sessions: SessionIssuer, role: str, tags: dict[str, str], seconds: int) -> IssuedSession:
    service = sessions.issue_service_session(SERVICE_BASE, name=NAME).session
    arn = sessions.account.role(role).arn
    return assume_role(AssumeRoleRequest(role_arn=arn, name=NAME, seconds=seconds, tags=tags), service, sessions)
