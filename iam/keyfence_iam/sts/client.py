"""AssumeRole over boto3, with the session policy of each scope."""

import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError, NoCredentialsError

from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy, Statement
from keyfence_iam.policy.actions import READS
from keyfence_iam.sts.session_cache import THREADS
from keyfence_iam.sts.session_spec import (
    SessionScope,
    SessionSpec,
    SessionThrottled,
    SessionUnavailable,
    StsConnectionLost,
)
from keyfence_iam.tenant import SESSION_TAG, SESSION_TAG_VARIABLE

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient


EVERY_CALL = ("dynamodb:*",)
"""The role says which; that it is short counts, since the policy travels in the session's token."""
ANY_REGION = "*"


@cache
def session_policies(roles: str, table: str) -> Mapping[SessionScope, str | None]:
    """For the table of the account that the roles, whose ARNs begin so, are in."""
    _, partition, _, _, account, _ = roles.split(":", 5)
    there = Deployment(account=account, region=ANY_REGION, table=table, partition=partition)
    return {
        SessionScope.WHOLE: None,
        SessionScope.READ_ONLY: _text(Statement(effect="Allow", sid="Reads", actions=READS, resources=("*",))),
        SessionScope.POOL: _text(_within("Pool", there.table_arn)),
        SessionScope.SILO: _text(_within("Silo", there.silo_arn(SESSION_TAG_VARIABLE))),
    }


def _within(sid: str, table: str) -> Statement:
    return Statement(effect="Allow", sid=sid, actions=EVERY_CALL, resources=(table, f"{table}/index/*"))


def _text(statement: Statement) -> str:
    return json.dumps(Policy(statements=(statement,)).as_json(), separators=(",", ":"))


LONGEST_NAME = 64
THROTTLED_SECONDS = 1.0
_THROTTLES = {"Throttling", "ThrottlingException", "RequestLimitExceeded"}


@dataclass(frozen=True, slots=True)
class StsClient:
    """Sessions of the roles whose ARNs begin with `roles`, narrowed as is wanted."""

    boto: "STSClient"
    roles: str
    table: str
    name: str

    @classmethod
    def connect(
        cls,
        session: boto3.Session,
        roles: str,
        table: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        read_timeout: float = 2.0,
    ) -> "StsClient":
        """The regional endpoint unless another is given; short timeouts, since callers wait."""
        config = Config(
            connect_timeout=1,
            read_timeout=read_timeout,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=THREADS,
            tcp_keepalive=True,
        )
        plain = (endpoint_url or "").startswith("http:")
        boto = session.client(
            "sts",
            region_name=region,
            endpoint_url=endpoint_url,
            config=config.merge(Config(proxies={})) if plain else config,
        )
        return cls(boto, roles, table, session_name())

    def __call__(self, wanted: SessionSpec, seconds: int) -> Credentials:
        try:
            answer = self.boto.assume_role(**self._asked(wanted, seconds))["Credentials"]
        except ClientError as refusal:
            raise _refused(refusal) from refusal
        except ConnectionClosedError as closed:
            raise StsConnectionLost(f"STS cannot be reached: {closed}") from closed
        except BotoCoreError as failure:
            raise SessionUnavailable(f"STS cannot be reached: {failure}") from failure
        return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])

    def _asked(self, wanted: SessionSpec, seconds: int) -> Any:
        tags = [{"Key": SESSION_TAG, "Value": wanted.tenant}] if wanted.tenant is not None else []
        narrowed = session_policies(self.roles, self.table)[wanted.profile]
        return {
            "RoleArn": f"{self.roles}{wanted.role}",
            "RoleSessionName": self.name,
            "DurationSeconds": seconds,
            **({"Tags": tags} if tags else {}),
            **({"Policy": narrowed} if narrowed else {}),
        }


def default_boto_session() -> boto3.Session:
    """The credentials that boto3's own chain finds on this machine, refreshed by it when they expire."""
    session = botocore.session.Session()
    session.set_config_variable("sts_regional_endpoints", "regional")
    if session.get_credentials() is None:
        raise NoCredentialsError
    return boto3.Session(botocore_session=session)


def session_name() -> str:
    """Where the session was asked for, as audit logs show it."""
    end = f"-{os.getpid()}"
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())
    return f"keyfence-{host}"[: LONGEST_NAME - len(end)] + end


def _refused(refusal: ClientError) -> SessionUnavailable:
    code = refusal.response["Error"]["Code"]
    if code in _THROTTLES:
        return SessionThrottled("STS has too many callers just now", THROTTLED_SECONDS)
    return SessionUnavailable(f"STS refuses: {refusal}")
