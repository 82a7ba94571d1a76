"""`TenantSuspension`: writes, reads and deletes the Deny policy of suspended tenants with the IAM API."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from keyfence_iam.boto_session import boto_session_with, client_config
from keyfence_iam.credentials import Credentials
from keyfence_iam.policy import Policy, parse_policy
from keyfence_iam.roles.service_roles import SUSPENDABLE_ROLES
from keyfence_iam.suspension.deny_policies import InvalidSuspension, deny_tenants_policy
from keyfence_iam.tenant import TenantId

POLICY_NAME = "keyfence-suspended-tenants"
SIGNING_REGION = "us-east-1"
"""The region in the signatures of requests to a custom endpoint. For the endpoints of AWS, boto3 knows the region."""


class SuspensionFailed(Exception):
    """IAM rejected a call or did not answer. Each role has either its old or its new list of denied tenants."""


class TooManySuspended(SuspensionFailed):
    """The inline policies of a role have no room for so many tenants. The role was not changed."""


class RolePolicyClient(Protocol):
    """The three methods of boto3's IAM client that are used here."""

    def put_role_policy(self, *, RoleName: str, PolicyName: str, PolicyDocument: str) -> object: ...  # noqa: N803
    def get_role_policy(self, *, RoleName: str, PolicyName: str) -> Any: ...  # noqa: N803
    def delete_role_policy(self, *, RoleName: str, PolicyName: str) -> object: ...  # noqa: N803


@dataclass(frozen=True, slots=True)
class TenantSuspension:
    """Suspends tenants on the tenant roles whose names begin with `role_prefix`. Each call is idempotent."""

    client: RolePolicyClient
    role_prefix: str

    @classmethod
    def connect(
        cls, credentials: Credentials, role_prefix: str, *, region: str | None = None, endpoint_url: str | None = None
    ) -> "TenantSuspension":
        """Connects to IAM. `region` decides which partition of AWS is used, because IAM itself has no regions."""
        client = boto_session_with(credentials).client(
            "iam",
            region_name=SIGNING_REGION if endpoint_url else region,
            endpoint_url=endpoint_url,
            config=client_config(
                endpoint_url,
                connect_timeout=3,
                read_timeout=10,
                retries={"mode": "standard", "total_max_attempts": 4},
            ),
        )
        return cls(client, role_prefix)

    def deny(self, tenants: Iterable[TenantId]) -> None:
        """Denies all sessions of these tenants, including existing sessions. All other tenants are allowed again.

        Raises TooManySuspended or SuspensionFailed.
        """
        denied_tenants = frozenset(tenants)
        policy = _suspension_policy(denied_tenants)
        for role in self._role_names():
            with _translated_errors(role, len(denied_tenants)):
                self._put_policy(role, policy) if policy else self._delete_policy(role)

    def denied_tenants(self) -> frozenset[TenantId]:
        """Returns the tenants that are denied on both tenant roles. Raises SuspensionFailed."""
        denied_reads, denied_writes = (self._denied_on(role) for role in self._role_names())
        return denied_reads & denied_writes

    def _role_names(self) -> tuple[str, ...]:
        return tuple(f"{self.role_prefix}{role}" for role in SUSPENDABLE_ROLES)

    def _put_policy(self, role: str, policy: Policy) -> None:
        document = json.dumps(policy.as_json(), separators=(",", ":"))
        self.client.put_role_policy(RoleName=role, PolicyName=POLICY_NAME, PolicyDocument=document)

    def _delete_policy(self, role: str) -> None:
        try:
            self.client.delete_role_policy(RoleName=role, PolicyName=POLICY_NAME)
        except ClientError as error:
            if not _is_policy_missing(error):
                raise

    def _denied_on(self, role: str) -> frozenset[TenantId]:
        with _translated_errors(role):
            policy = self._find_policy(role)
        if policy is None:
            return frozenset()
        return frozenset(map(TenantId, policy.statements[0].conditions[0].values))

    def _find_policy(self, role: str) -> Policy | None:
        try:
            return parse_policy(self.client.get_role_policy(RoleName=role, PolicyName=POLICY_NAME)["PolicyDocument"])
        except ClientError as error:
            if not _is_policy_missing(error):
                raise
        return None


def _suspension_policy(tenants: frozenset[TenantId]) -> Policy | None:
    """Returns the Deny policy, or None if no tenant is suspended.

    Raises TooManySuspended if the policy would be too large.
    """
    try:
        return deny_tenants_policy(tenants) if tenants else None
    except InvalidSuspension as error:
        raise TooManySuspended(str(error)) from error


def _is_policy_missing(error: ClientError) -> bool:
    """Returns whether the error says that the policy does not exist.

    For a missing role, IAM has the same error code. But only the message for a missing policy names the policy.
    """
    details = error.response["Error"]
    return details["Code"] == "NoSuchEntity" and POLICY_NAME in details["Message"]


@contextmanager
def _translated_errors(role: str, tenant_count: int = 0) -> Iterator[None]:
    """Raises TooManySuspended or SuspensionFailed instead of the errors of boto3."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] == "LimitExceeded":
            raise TooManySuspended(f"{role} has no room for {tenant_count} suspended tenants: {error}") from error
        raise SuspensionFailed(f"IAM rejects the call for {role}: {error}") from error
    except BotoCoreError as error:
        raise SuspensionFailed(f"IAM cannot be reached: {error}") from error
