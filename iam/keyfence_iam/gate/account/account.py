"""`Account`, `Role`, `InlinePolicy`; from definitions or from a directory of JSON."""

import re
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy, parse_policy_text
from keyfence_iam.policy.document import policy_size
from keyfence_iam.roles import ROLES, RoleDefinition


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
        return sum(map(policy_size, self.policies)) + sum(inline.size for inline in self.inline.values())

    def with_policy(self, policy: Policy) -> "Role":
        return replace(self, policies=(*self.policies, policy))

    def with_inline(self, name: str, policy: InlinePolicy) -> "Role":
        return replace(self, inline={**self.inline, name: policy})

    def without_inline(self, name: str) -> "Role":
        return replace(self, inline={other: kept for other, kept in self.inline.items() if other != name})


def role_id(arn: str) -> str:
    """AROA and 17 characters, the same for the same ARN in every process."""
    return f"AROA{b32encode(sha256(arn.encode()).digest()).decode()[:17]}"


class NoSuchRole(LookupError):
    """A role that the account does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Roles by their full names, policies by their ARNs, all of it as it is at one moment."""

    deployment: Deployment
    roles: Mapping[str, Role]
    managed_policies: Mapping[str, Policy] = field(default_factory=dict)
    resource_policies: Mapping[str, tuple[Policy, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, deployment: Deployment) -> "Account":
        """The roles that Keyfence deploys, with the policies that it deploys."""
        roles = (_deployed(name, definition, deployment) for name, definition in ROLES.items())
        return cls(deployment=deployment, roles={role.name: role for role in roles})

    def role(self, name: str) -> Role:
        """By its full name, or by the one it has in Keyfence, without the prefix of the deployment."""
        role = self.roles.get(name) or self.roles.get(f"{self.deployment.role_prefix}{name}")
        if role is None:
            raise NoSuchRole(f"the account has no role {name!r}; it has {', '.join(sorted(self.roles))}")
        return role

    def find_role(self, arn: str) -> Role | None:
        return next((role for role in self.roles.values() if role.arn == arn), None)

    @property
    def inline(self) -> Mapping[str, Mapping[str, str]]:
        """The texts of the inline policies, by role and name."""
        return {
            role.name: {name: policy.text for name, policy in role.inline.items()}
            for role in self.roles.values()
            if role.inline
        }

    def with_inline(self, kept: Mapping[str, Mapping[str, str]]) -> "Account":
        """The account with the inline policies that one had before; of roles that are gone they are gone too."""
        roles = dict(self.roles)
        for role, policies in kept.items():
            if role in roles:
                read = {name: InlinePolicy(text, parse_policy_text(text)) for name, text in policies.items()}
                roles[role] = replace(roles[role], inline=read)
        return replace(self, roles=roles)

    def with_role(self, role: Role) -> "Account":
        return replace(self, roles={**self.roles, role.name: role})

    def with_policy(self, name: str, policy: Policy) -> "Account":
        """The account in which this role has one more identity policy, which its live sessions meet at once."""
        return self.with_role(self.role(name).with_policy(policy))


def _deployed(name: str, definition: RoleDefinition, deployment: Deployment) -> Role:
    bounded = definition.boundary
    return Role(
        name=f"{deployment.role_prefix}{name}",
        arn=deployment.role_arn(name),
        id=role_id(deployment.role_arn(name)),
        trust=definition.trust(deployment),
        policies=(definition.identity(deployment),),
        boundary=(bounded(deployment),) if bounded else None,
        boundary_arn=deployment.boundary_arn(name) if bounded else None,
        max_session_seconds=definition.max_session_seconds,
    )
