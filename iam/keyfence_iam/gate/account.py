"""The account behind the gate: its roles, its managed policies and the policies on its resources."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy, parse_text
from keyfence_iam.gate.role import InlinePolicy, Role, role_id
from keyfence_iam.policies import ROLES, RoleDefinition


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
                read = {name: InlinePolicy(text, parse_text(text)) for name, text in policies.items()}
                roles[role] = replace(roles[role], inline=read)
        return replace(self, roles=roles)

    def having(self, role: Role) -> "Account":
        return replace(self, roles={**self.roles, role.name: role})

    def attaching(self, name: str, policy: Policy) -> "Account":
        """The account in which this role has one more identity policy, which its live sessions meet at once."""
        return self.having(self.role(name).attached(policy))


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
