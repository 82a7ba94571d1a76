"""Puts, reads and deletes them through the IAM API."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from keyfence_iam.credentials import Credentials
from keyfence_iam.policy import Condition, Policy, parse_policy
from keyfence_iam.roles.service_roles import SUSPENDABLE_ROLES
from keyfence_iam.suspension.policy import InvalidSuspension, deny_tenants_policy
from keyfence_iam.tenant import TenantId


class SuspensionFailed(Exception):
    """IAM did not take it, or did not answer. Each role refuses whom it refused before or whom it was to refuse."""


class TooManySuspended(SuspensionFailed):
    """More tenants than a role's inline policies have room for; nothing was changed on that role."""


POLICY_NAME = "keyfence-suspended-tenants"
GLOBAL_REGION = "us-east-1"
"""Where IAM's requests are signed for when an endpoint is given, of which boto3 knows nothing."""


class RolePolicies(Protocol):
    """What is used of boto3's client of IAM."""

    def put_role_policy(self, *, RoleName: str, PolicyName: str, PolicyDocument: str) -> object: ...  # noqa: N803
    def get_role_policy(self, *, RoleName: str, PolicyName: str) -> Any: ...  # noqa: N803
    def delete_role_policy(self, *, RoleName: str, PolicyName: str) -> object: ...  # noqa: N803


@dataclass(frozen=True, slots=True)
class TenantSuspension:
    """Over the roles whose names begin with `prefix`; to do the same again changes nothing."""

    client: RolePolicies
    prefix: str

    @classmethod
    def connect(
        cls, credentials: Credentials, prefix: str, *, region: str | None = None, endpoint_url: str | None = None
    ) -> "TenantSuspension":
        """IAM is one for all regions of a partition, which `region` says."""
        config = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4})
        plain = (endpoint_url or "").startswith("http:")
        client = _session().client(
            "iam",
            region_name=GLOBAL_REGION if endpoint_url else region,
            endpoint_url=endpoint_url,
            aws_access_key_id=credentials.access_key,
            aws_secret_access_key=credentials.secret_key,
            aws_session_token=credentials.token,
            config=config.merge(Config(proxies={})) if plain else config,
        )
        return cls(client, prefix)

    def shut(self, tenants: Iterable[TenantId]) -> None:
        """From then on sessions of these tenants are refused, whenever they began, and of no others."""
        wanted = frozenset(tenants)
        policy = _policy(wanted)
        for role in self._roles():
            with _told(role, wanted):
                self._put(role, policy) if policy else self._delete(role)

    def denied_tenants(self) -> frozenset[TenantId]:
        """Those whom both roles refuse now."""
        read, write = (self._refused(role) for role in self._roles())
        return read & write

    def _roles(self) -> tuple[str, ...]:
        return tuple(f"{self.prefix}{role}" for role in SUSPENDABLE_ROLES)

    def _put(self, role: str, policy: Policy) -> None:
        document = json.dumps(policy.as_json(), separators=(",", ":"))
        self.client.put_role_policy(RoleName=role, PolicyName=POLICY_NAME, PolicyDocument=document)

    def _delete(self, role: str) -> None:
        try:
            self.client.delete_role_policy(RoleName=role, PolicyName=POLICY_NAME)
        except ClientError as error:
            if not _absent(error):
                raise

    def _refused(self, role: str) -> frozenset[TenantId]:
        with _told(role):
            policy = self._find(role)
        return frozenset() if policy is None else frozenset(map(TenantId, _condition(policy).values))

    def _find(self, role: str) -> Policy | None:
        try:
            return parse_policy(self.client.get_role_policy(RoleName=role, PolicyName=POLICY_NAME)["PolicyDocument"])
        except ClientError as error:
            if not _absent(error):
                raise
        return None


def _session() -> boto3.Session:
    """Whatever profile the environment names: the credentials are given."""
    nowhere: Any = {"profile": (None, None, None, None)}
    return boto3.Session(botocore_session=botocore.session.Session(session_vars=nowhere))


def _policy(tenants: frozenset[TenantId]) -> Policy | None:
    try:
        return deny_tenants_policy(tenants) if tenants else None
    except InvalidSuspension as error:
        raise TooManySuspended(str(error)) from error


def _condition(policy: Policy) -> Condition:
    return policy.statements[0].conditions[0]


def _absent(error: ClientError) -> bool:
    """That there is no such policy: nobody is refused. That there is no such role is another matter."""
    told = error.response["Error"]
    return told["Code"] == "NoSuchEntity" and POLICY_NAME in told["Message"]


@contextmanager
def _told(role: str, tenants: frozenset[TenantId] = frozenset()) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] == "LimitExceeded":
            raise TooManySuspended(f"{role} has no room for {len(tenants)} suspended tenants: {error}") from error
        raise SuspensionFailed(f"IAM refuses: {error}") from error
    except BotoCoreError as error:
        raise SuspensionFailed(f"IAM cannot be reached: {error}") from error
