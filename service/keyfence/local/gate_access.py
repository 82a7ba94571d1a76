"""Issues sessions that local gates accept, with the gate's key from the data directory. No gate has to run."""

from pathlib import Path

from keyfence.errors import BadInput
from keyfence.local.data_directory import GATE_KEY_FILE, check_format, gate_key
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import IssuedSession, SessionIssuer
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.roles import ROLES
from keyfence_iam.roles.names import CONTROL_PLANE, SERVICE_BASE, SUSPENDER, TENANT_READ, TENANT_WRITE
from keyfence_iam.tenant import SESSION_TAG, TenantId

SESSION_NAME = "local"
"""The last part of the session's ARN."""
SESSION_SECONDS = 900


def session_issuer(directory: Path, deployment: Deployment) -> SessionIssuer:
    """Returns an issuer of sessions for the gates on this directory. Raises BadInput if there is no gate key."""
    if not (directory / GATE_KEY_FILE).is_file():
        raise BadInput(
            f"There is no gate key in {directory}. Start `keyfence dev --data {directory}` or `keyfence gate` first,"
            " or name the data directory of a running gate with --data."
        )
    check_format(directory)
    return SessionIssuer(Account.from_definitions(ROLES, deployment), gate_key(directory))


def tenant_session(
    issuer: SessionIssuer, tenant: TenantId, *, may_write: bool, seconds: int = SESSION_SECONDS
) -> IssuedSession:
    """Returns a session of the tenant's read or write role, tagged with the tenant.

    The session is issued in the same way as for the service: the role service-base assumes the tenant's role. So the
    trust policy of the tenant's role is checked.
    """
    return _assume(issuer, TENANT_WRITE if may_write else TENANT_READ, {SESSION_TAG: tenant}, seconds)


def role_session(issuer: SessionIssuer, role: str, *, seconds: int = SESSION_SECONDS) -> IssuedSession:
    """Returns a session of a role that belongs to no tenant.

    The role service-base assumes the roles control-plane and suspender, so their trust policies are checked. The
    other roles are issued directly, as AWS gives a process its role.
    """
    if role in {CONTROL_PLANE, SUSPENDER}:
        return _assume(issuer, role, {}, seconds)
    return issuer.issue_service_session(role, name=SESSION_NAME, seconds=seconds)


def _assume(issuer: SessionIssuer, role: str, tags: dict[str, str], seconds: int) -> IssuedSession:
    service_session = issuer.issue_service_session(SERVICE_BASE, name=SESSION_NAME).session
    arn = issuer.account.get_role(role).arn
    return assume_role(
        AssumeRoleRequest(role_arn=arn, session_name=SESSION_NAME, duration_seconds=seconds, tags=tags),
        service_session,
        issuer,
    )
