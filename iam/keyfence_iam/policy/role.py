"""`RoleDefinition`: the policies of a role and the longest duration of its sessions."""

from collections.abc import Callable
from dataclasses import dataclass

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy

MAX_CHAINED_SESSION_SECONDS = 3600
"""AWS's maximum for a session that was assumed by another session of a role (role chaining)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """The policies of a role, as functions of the deployment."""

    identity: Callable[[Deployment], Policy]
    trust: Callable[[Deployment], Policy]
    boundary: Callable[[Deployment], Policy] | None = None
    """The permissions boundary, or None for a role without one."""
    max_session_seconds: int = MAX_CHAINED_SESSION_SECONDS
