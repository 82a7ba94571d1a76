"""Becoming somebody of the local AWS without asking a running gate: its key is enough."""

from keyfence_iam.gate.account.session import Issued, Sessions
from keyfence_iam.gate.assume_role import Assumption, assume
from keyfence_iam.roles.names import CONTROL_PLANE, SERVICE_BASE, TENANT_READ, TENANT_WRITE, WARDEN
from keyfence_iam.tenant import TENANT_TAG, TenantId

NAME = "local"
SECONDS = 900


def as_tenant(sessions: Sessions, tenant: TenantId, *, writes: bool, seconds: int = SECONDS) -> Issued:
    """As the service becomes that tenant: by its own role, and only if the tenant's role trusts it."""
    role = TENANT_WRITE if writes else TENANT_READ
    return _assumed(sessions, role, {TENANT_TAG: tenant}, seconds)


def as_role(sessions: Sessions, name: str, *, seconds: int = SECONDS) -> Issued:
    """As the process that runs as this role; the control plane and the warden are those that the service becomes."""
    if name in {CONTROL_PLANE, WARDEN}:
        return _assumed(sessions, name, {}, seconds)
    return sessions.mint(name, name=NAME, seconds=seconds)


def _assumed(sessions: Sessions, role: str, tags: dict[str, str], seconds: int) -> Issued:
    service = sessions.mint(SERVICE_BASE, name=NAME).session
    arn = sessions.account.role(role).arn
    return assume(Assumption(role_arn=arn, name=NAME, seconds=seconds, tags=tags), service, sessions)
