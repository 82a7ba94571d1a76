"""`Account`: the roles and policies of the emulated account, from role definitions or from a directory of files."""

import re
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from keyfence_iam import arns
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import DocumentKind, Policy, parse_policy_text
from keyfence_iam.policy.role import MAX_CHAINED_SESSION_SECONDS, RoleDefinition, policy_size

_POLICY_FILE = re.compile(r"(?P<role>.+?)(\.trust|\.boundary)?\.json")
"""The name of a policy file, with the name of the role that the policy belongs to."""


class NoSuchRole(LookupError):
    """The account does not have a role of this name."""


@dataclass(frozen=True, slots=True)
class InlinePolicy:
    """A policy that PutRolePolicy stored on a role: the text that PutRolePolicy received, and the parsed policy."""

    text: str
    policy: Policy

    @property
    def size(self) -> int:
        """The number of characters without white space, as IAM counts them."""
        return len(re.sub(r"\s", "", self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role of the account. A change of its policies also applies to sessions that already exist."""

    name: str
    arn: str
    id: str
    trust: Policy
    deployed_policies: tuple[Policy, ...] = ()
    """The identity policies that the role was deployed with. PutRolePolicy cannot replace them."""
    inline_policies: Mapping[str, InlinePolicy] = field(default_factory=dict)
    """The policies that PutRolePolicy added, by name."""
    boundary: tuple[Policy, ...] | None = None
    """The permissions boundary; None if the role has no boundary."""
    boundary_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    max_session_seconds: int = MAX_CHAINED_SESSION_SECONDS

    @property
    def identity_policies(self) -> tuple[Policy, ...]:
        return (*self.deployed_policies, *(inline.policy for inline in self.inline_policies.values()))

    @property
    def identity_policy_size(self) -> int:
        """The number of characters of all identity policies.

        Deployed policies count too, because on AWS they may be deployed as inline policies.
        """
        return sum(map(policy_size, self.deployed_policies)) + sum(
            inline.size for inline in self.inline_policies.values()
        )

    def with_policy(self, policy: Policy) -> "Role":
        return replace(self, deployed_policies=(*self.deployed_policies, policy))

    def with_inline_policy(self, name: str, policy: InlinePolicy) -> "Role":
        return replace(self, inline_policies={**self.inline_policies, name: policy})

    def without_inline_policy(self, name: str) -> "Role":
        remaining = {key: policy for key, policy in self.inline_policies.items() if key != name}
        return replace(self, inline_policies=remaining)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The roles and policies of one account in one region. A change creates a new Account."""

    id: str
    region: str
    roles: Mapping[str, Role]
    """The roles by their full names."""
    partition: str = "aws"
    role_prefix: str = ""
    """The beginning of all role names. `get_role` also finds a role by its name without the prefix."""
    managed_policies: Mapping[str, Policy] = field(default_factory=dict)
    """The managed policies by their ARNs."""
    resource_policies: Mapping[str, tuple[Policy, ...]] = field(default_factory=dict)
    """The resource policies by the ARNs of their resources."""

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
        """Reads each role from `<role>.trust.json` and, if they exist, from `<role>.json` and `<role>.boundary.json`.

        `<role>` is the name of the role without `role_prefix`. `keyfence policy render --out` writes these files.
        Raises FileNotFoundError if a role has no trust policy, and InvalidPolicy if a file does not contain a policy.
        """
        account = cls(id=account_id, region=region, partition=partition, role_prefix=role_prefix, roles={})
        matches = (_POLICY_FILE.fullmatch(path.name) for path in Path(directory).iterdir())
        names = sorted({match["role"] for match in matches if match})
        roles = (_role_from_files(Path(directory), name, account) for name in names)
        return replace(account, roles={role.name: role for role in roles})

    @property
    def inline_policies(self) -> Mapping[str, Mapping[str, str]]:
        """The texts of the inline policies, by role name and policy name."""
        return {
            role.name: {name: policy.text for name, policy in role.inline_policies.items()}
            for role in self.roles.values()
            if role.inline_policies
        }

    def get_role(self, name: str) -> Role:
        """Returns a role by its full name, or by its name without the account's role prefix.

        Raises NoSuchRole if the account has no such role.
        """
        role = self.roles.get(name) or self.roles.get(f"{self.role_prefix}{name}")
        if role is None:
            raise NoSuchRole(f"the account has no role {name!r}; its roles are {', '.join(sorted(self.roles))}")
        return role

    def find_role_by_arn(self, arn: str) -> Role | None:
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
        return self.with_role(self.get_role(role).with_policy(policy))

    def with_inline_policies(self, texts: Mapping[str, Mapping[str, str]]) -> "Account":
        """Returns the account with these inline policies. `texts` has them by role name and policy name.

        Policies of roles that the account does not have are ignored.
        """
        roles = dict(self.roles)
        for role, texts_by_name in texts.items():
            if role in roles:
                policies = {name: InlinePolicy(text, parse_policy_text(text)) for name, text in texts_by_name.items()}
                roles[role] = replace(roles[role], inline_policies=policies)
        return replace(self, roles=roles)


def role_id(arn: str) -> str:
    """Returns the unique id of a role: AROA and 17 characters. The same ARN has the same id in every process."""
    return f"AROA{b32encode(sha256(arn.encode()).digest()).decode()[:17]}"


def _deployed_role(name: str, definition: RoleDefinition, deployment: Deployment) -> Role:
    boundary = definition.boundary
    return Role(
        name=f"{deployment.role_prefix}{name}",
        arn=deployment.role_arn(name),
        id=role_id(deployment.role_arn(name)),
        trust=definition.trust(deployment),
        deployed_policies=(definition.identity(deployment),),
        boundary=(boundary(deployment),) if boundary else None,
        boundary_arn=deployment.boundary_arn(name) if boundary else None,
        max_session_seconds=definition.max_session_seconds,
    )


def _role_from_files(directory: Path, name: str, account: Account) -> Role:
    full_name = f"{account.role_prefix}{name}"
    arn = account.role_arn(full_name)
    identity_file, boundary_file = directory / f"{name}.json", directory / f"{name}.boundary.json"
    boundary_arn = arns.boundary_arn(full_name, account=account.id, partition=account.partition)
    return Role(
        name=full_name,
        arn=arn,
        id=role_id(arn),
        trust=_read_policy(directory / f"{name}.trust.json", kind="trust"),
        deployed_policies=(_read_policy(identity_file),) if identity_file.exists() else (),
        boundary=(_read_policy(boundary_file),) if boundary_file.exists() else None,
        boundary_arn=boundary_arn if boundary_file.exists() else None,
    )


def _read_policy(path: Path, kind: DocumentKind = "identity") -> Policy:
    return parse_policy_text(path.read_bytes(), kind=kind, path=path.name)
