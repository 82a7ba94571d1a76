"""`RoleDefinition`: the policies of a role, and IAM's limits for their sizes and for the duration of sessions."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy.document import Policy

MAX_INLINE_SIZE = 10_240
"""IAM's quota for all inline policies of a role together, in characters without white space."""
MAX_MANAGED_SIZE = 6_144
"""IAM's quota for a managed policy, in characters without white space. A permissions boundary is a managed policy."""
MAX_TRUST_SIZE = 2_048
"""IAM's default quota for a trust policy, in characters without white space."""

MAX_CHAINED_SESSION_SECONDS = 3600
"""The longest duration of a session if the caller of AssumeRole is itself the session of a role (role chaining)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleDefinition:
    """The policies of a role, as functions of the deployment."""

    identity: Callable[[Deployment], Policy]
    trust: Callable[[Deployment], Policy]
    boundary: Callable[[Deployment], Policy] | None = None
    """The permissions boundary, or None for a role without one."""
    max_session_seconds: int = MAX_CHAINED_SESSION_SECONDS


def policy_size(policy: Policy) -> int:
    """Returns the number of characters of a policy as IAM counts them: without white space."""
    return len(json.dumps(policy.as_json(), separators=(",", ":")))
