"""Roles: who may assume them, what they may do, and how long."""

from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from iam.document import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role of the account. Its policies are those attached now, also for sessions that began before."""

    name: str
    arn: str
    id: str
    trust: Policy
    policies: tuple[Policy, ...] = ()
    boundary: tuple[Policy, ...] | None = None
    boundary_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    max_session_seconds: int = 3600

    def attached(self, policy: Policy) -> "Role":
        return replace(self, policies=(*self.policies, policy))


def role_id(arn: str) -> str:
    """AROA and 17 characters, the same for the same ARN in every process."""
    return f"AROA{b32encode(sha256(arn.encode()).digest()).decode()[:17]}"
