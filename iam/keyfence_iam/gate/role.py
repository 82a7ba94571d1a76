"""Roles: who may assume them, what they may do, and how long."""

import re
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from keyfence_iam.document import Policy
from keyfence_iam.policies.size import size


@dataclass(frozen=True, slots=True)
class InlinePolicy:
    """A policy as its text was put, and as it is understood."""

    text: str
    policy: Policy

    @property
    def size(self) -> int:
        """In characters, of which blanks do not count."""
        return len(re.sub(r"\s", "", self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role of the account. Its policies are those attached now, also for sessions that began before."""

    name: str
    arn: str
    id: str
    trust: Policy
    policies: tuple[Policy, ...] = ()
    """As they were deployed: none of them has a name under which IAM would take another in its place."""
    inline: Mapping[str, InlinePolicy] = field(default_factory=dict)
    """By name, what was put since."""
    boundary: tuple[Policy, ...] | None = None
    boundary_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    max_session_seconds: int = 3600

    @property
    def identity(self) -> tuple[Policy, ...]:
        return (*self.policies, *(inline.policy for inline in self.inline.values()))

    @property
    def inline_size(self) -> int:
        """What was deployed counts too, so that what fits here fits however that is attached."""
        return sum(map(size, self.policies)) + sum(inline.size for inline in self.inline.values())

    def attached(self, policy: Policy) -> "Role":
        return replace(self, policies=(*self.policies, policy))

    def with_inline(self, name: str, policy: InlinePolicy) -> "Role":
        return replace(self, inline={**self.inline, name: policy})

    def without_inline(self, name: str) -> "Role":
        return replace(self, inline={other: kept for other, kept in self.inline.items() if other != name})


def role_id(arn: str) -> str:
    """AROA and 17 characters, the same for the same ARN in every process."""
    return f"AROA{b32encode(sha256(arn.encode()).digest()).decode()[:17]}"
