"""A role: its policies and the longest duration of its sessions."""

from collections.abc import Callable
from dataclasses import dataclass

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy

MAX_CHAINED_SESSION = 3600
"""AWS's maximum for role chaining: a session that assumes another role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """The policies of a role, as functions of the deployment."""

    identity: Callable[[Deployment], Policy]
    trust: Callable[[Deployment], Policy]
    boundary: Callable[[Deployment], Policy] | None = None
    """The permissions boundary, or None."""
    max_session_seconds: int = MAX_CHAINED_SESSION
