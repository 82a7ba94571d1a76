"""Sessions: a role that somebody is, for a while, under a name and with tags."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from keyfence_iam.document import Policy
from keyfence_iam.evaluator.authorisation import Value
from keyfence_iam.evaluator.evaluate import Policies
from keyfence_iam.evaluator.principal import Principal
from keyfence_iam.gate.clock import iso
from keyfence_iam.gate.role import Role
from keyfence_iam.gate.token import Grant


@dataclass(frozen=True, kw_only=True)
class Session:
    """A grant, with the role and the policies that it names as they are now."""

    access_key: str
    grant: Grant
    role: Role
    policies: tuple[Policy, ...] | None = None

    @property
    def name(self) -> str:
        return self.grant.name

    @property
    def expires_at(self) -> datetime:
        return self.grant.expires_at

    @cached_property
    def arn(self) -> str:
        _, partition, _, _, account, _ = self.role.arn.split(":", 5)
        return f"arn:{partition}:sts::{account}:assumed-role/{self.role.name}/{self.name}"

    @property
    def user_id(self) -> str:
        return f"{self.role.id}:{self.name}"

    @property
    def account(self) -> str:
        return self.role.arn.split(":")[4]

    @cached_property
    def principal(self) -> Principal:
        return Principal(account=self.account, role_arn=self.role.arn, session_arn=self.arn)

    @cached_property
    def tags(self) -> Mapping[str, str]:
        """The role's tags under the session's: keys differ only by more than their case, and the session's win."""
        given = {key.lower() for key in self.grant.tags}
        inherited = {key: value for key, value in self.role.tags.items() if key.lower() not in given}
        return {**inherited, **self.grant.tags}

    def expired(self, now: datetime) -> bool:
        return now >= self.grant.expires_at

    def against(self, resource_policies: tuple[Policy, ...] = ()) -> Policies:
        """The policies that decide what this session does to a resource with these policies."""
        return replace(self._own, resource=resource_policies) if resource_policies else self._own

    def context(self, now: datetime, *, source_ip: str, secure_transport: bool, region: str) -> dict[str, Value]:
        """What policies may ask about the one who calls, and about the call as such."""
        return {
            **self._standing,
            "aws:CurrentTime": iso(now),
            "aws:EpochTime": str(int(now.timestamp())),
            "aws:SourceIp": source_ip,
            "aws:SecureTransport": "true" if secure_transport else "false",
            "aws:RequestedRegion": region,
        }

    @cached_property
    def _own(self) -> Policies:
        return Policies(identity=self.role.identity, boundary=self.role.boundary, session=self.policies)

    @cached_property
    def _standing(self) -> Mapping[str, Value]:
        source = {"aws:SourceIdentity": self.grant.source_identity} if self.grant.source_identity else {}
        return {
            **{f"aws:PrincipalTag/{key}": value for key, value in self.tags.items()},
            "aws:PrincipalArn": self.role.arn,
            "aws:PrincipalAccount": self.account,
            "aws:PrincipalType": "AssumedRole",
            "aws:userid": self.user_id,
            "aws:TokenIssueTime": iso(self.grant.issued_at),
            **source,
        }
