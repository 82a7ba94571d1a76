"""`Account`, `Role` and `InlinePolicy`: from role definitions or from a directory of policy files."""

import re
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from keyfence_iam import arns
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import DocumentKind, Policy, parse_policy_text
from keyfence_iam.policy.document import policy_size
from keyfence_iam.policy.role import MAX_CHAINED_SESSION, RoleDefinition

_POLICY_FILE = re.compile(r"(?P<role>.+?)(\.trust|\.boundary)?\.json")


class NoSuchRole(LookupError):
    """The account does not have this role."""


@dataclass(frozen=True, slots=True)
class InlinePolicy:
    """An inline policy: the text that PutRolePolicy received, and the parsed policy."""

    text: str
    policy: Policy

    @property
    def size(self) -> int:
        """The size as IAM counts it: characters without white space."""
        return len(re.sub(r"\s", "", self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role of the account. A change of its policies also applies to sessions that already exist."""

    name: str
    arn: str
    id: str
    trust: Policy
    policies: tuple[Policy, ...] = ()
    """The policies that the role was deployed with. PutRolePolicy cannot replace them: they have no name."""
    inline_policies: Mapping[str, InlinePolicy] = field(default_factory=dict)
    """The policies that PutRolePolicy added, by name."""
    boundary: tuple[Policy, ...] | None = None
    boundary_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    max_session_seconds: int = MAX_CHAINED_SESSION

    @property
    def identity(self) -> tuple[Policy, ...]:
        return (*self.policies, *(inline.policy for inline in self.inline_policies.values()))

    @property
    def inline_size(self) -> int:
        """The size of all policies. Deployed ones count too, since they may be deployed as inline policies on AWS."""
        return sum(map(policy_size, self.policies)) + sum(inline.size for inline in self.inline_policies.values())

    def with_policy(self, policy: Policy) -> "Role":
        return replace(self, policies=(*self.policies, policy))

    def with_inline_policy(self, name: str, policy: InlinePolicy) -> "Role":
        return replace(self, inline_policies={**self.inline_policies, name: policy})

    def without_inline_policy(self, name: str) -> "Role":
        others = {other: policy for other, policy in self.inline_policies.items() if other != name}
        return replace(self, inline_policies=others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An immutable snapshot of one account in one region: roles by their full names, policies by their ARNs."""

    id: str
    region: str
    roles: Mapping[str, Role]
    partition: str = "aws"
    role_prefix: str = ""
    """The beginning of all role names, which `role` lets callers leave out."""
    managed_policies: Mapping[str, Policy] = field(default_factory=dict)
    resource_policies: Mapping[str, tuple[Policy, ...]] = field(default_factory=dict)

    @classmethod
    def from_definitions(cls, definitions: Mapping[str, RoleDefinition], deployment: Deployment) -> "Account":
        roles = (_deployed_role(name, definition, deployment) for name, definition in definitions.items())
        return cls(
            id=deployment.account,
            region=deployment.region,
            partition=deployment.partition,
            role_prefix=deployment.role_prefix,
            roles={role.name: role for role in roles},
        )

    @classmethod
    def from_directory(
        cls, directory: str | Path, *, account_id: str, region: str, partition: str = "aws", role_prefix: str = ""
    ) -> "Account":
        """Reads each role from `<role>.trust.json` and, where they exist, `<role>.json` and `<role>.boundary.json`.

        `keyfence policy render --out` writes these files. A role without a trust policy raises FileNotFoundError.
        A file that is not a policy raises InvalidPolicy with the name of the file.
        """
        empty = cls(id=account_id, region=region, partition=partition, role_prefix=role_prefix, roles={})
        matches = (_POLICY_FILE.fullmatch(path.name) for path in Path(directory).iterdir())
        names = sorted({match["role"] for match in matches if match})
        roles = (_role_from_files(Path(directory), name, empty) for name in names)
        return replace(empty, roles={role.name: role for role in roles})

    @property
    def inline_policies(self) -> Mapping[str, Mapping[str, str]]:
        """The texts of the inline policies, by role and name."""
        return {
            role.name: {name: policy.text for name, policy in role.inline_policies.items()}
            for role in self.roles.values()
            if role.inline_policies
        }

    def role(self, name: str) -> Role:
        """Returns a role by its full name, or by its name without the account's role prefix. Raises NoSuchRole."""
        role = self.roles.get(name) or self.roles.get(f"{self.role_prefix}{name}")
        if role is None:
            raise NoSuchRole(f"the account has no role {name!r}; it has {', '.join(sorted(self.roles))}")
        return role

    def find_role(self, arn: str) -> Role | None:
        return next((role for role in self.roles.values() if role.arn == arn), None)

    @property
    def role_arn_prefix(self) -> str:
        """The beginning of the ARNs of all roles that have the account's role prefix."""
        return self.role_arn(self.role_prefix)

    def role_arn(self, name: str) -> str:
        """Returns the ARN for a full role name, whether the role exists or not."""
        return arns.role_arn(name, account=self.id, partition=self.partition)

    def with_role(self, role: Role) -> "Account":
        return replace(self, roles={**self.roles, role.name: role})

    def with_policy(self, role: str, policy: Policy) -> "Account":
        """Returns the account with one more identity policy on this role."""
        return self.with_role(self.role(role).with_policy(policy))

    def with_inline_policies(self, texts: Mapping[str, Mapping[str, str]]) -> "Account":
        """Returns the account with saved inline policies. Those of roles that no longer exist are dropped."""
        roles = dict(self.roles)
        for role, policies in texts.items():
            if role in roles:
                parsed = {name: InlinePolicy(text, parse_policy_text(text)) for name, text in policies.items()}
                roles[role] = replace(roles[role], inline_policies=parsed)
        return replace(self, roles=roles)


def role_id(arn: str) -> str:
    """Returns AROA and 17 characters, the same for the same ARN in every process."""
    return f"AROA{b32encode(sha256(arn.encode()).digest()).decode()[:17]}"


def _deployed_role(name: str, definition: RoleDefinition, deployment: Deployment) -> Role:
    boundary = definition.boundary
    return Role(
        name=f"{deployment.role_prefix}{name}",
        arn=deployment.role_arn(name),
        id=role_id(deployment.role_arn(name)),
        trust=definition.trust(deployment),
        policies=(definition.identity(deployment),),
        boundary=(boundary(deployment),) if boundary else None,
        boundary_arn=deployment.boundary_arn(name) if boundary else None,
        max_session_seconds=definition.max_session_seconds,
    )


def _role_from_files(directory: Path, name: str, account: Account) -> Role:
    full_name = f"{account.role_prefix}{name}"
    arn = account.role_arn(full_name)
    identity, boundary = directory / f"{name}.json", directory / f"{name}.boundary.json"
    boundary_arn = arns.boundary_arn(full_name, account=account.id, partition=account.partition)
    return Role(
        name=full_name,
        arn=arn,
        id=role_id(arn),
        trust=_read_policy(directory / f"{name}.trust.json", kind="trust"),
        policies=(_read_policy(identity),) if identity.exists() else (),
        boundary=(_read_policy(boundary),) if boundary.exists() else None,
        boundary_arn=boundary_arn if boundary.exists() else None,
    )


def _read_policy(path: Path, kind: DocumentKind = "identity") -> Policy:
    return parse_policy_text(path.read_bytes(), kind=kind, path=path.name)
