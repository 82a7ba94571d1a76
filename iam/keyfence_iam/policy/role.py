"""A role: what it may do, what it may do at most, who may become it, and for how long."""

from collections.abc import Callable
from dataclasses import dataclass

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy

MAX_CHAINED_SESSION = 3600
"""Also the most that AWS gives a session whose caller is a role's session itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """Its policies are functions of where Keyfence is deployed."""

    identity: Callable[[Deployment], Policy]
    trust: Callable[[Deployment], Policy]
    boundary: Callable[[Deployment], Policy] | None = None
    """What no other policy of the role can grant more than; None where nobody writes such policies."""
    max_session_seconds: int = MAX_CHAINED_SESSION
