"""`StsClient`: calls AssumeRole with boto3. `session_policies`: the session policy of each scope."""

import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from keyfence_iam import arns
from keyfence_iam.boto_session import client_config
from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy, Statement
from keyfence_iam.policy.actions import READ_ACTIONS
from keyfence_iam.sts.session_cache import STS_THREADS
from keyfence_iam.sts.session_spec import (
    SessionRefused,
    SessionScope,
    SessionSpec,
    SessionThrottled,
    SessionUnavailable,
    StsConnectionLost,
)
from keyfence_iam.tenant import SESSION_TAG, SESSION_TAG_VARIABLE

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

ALL_DYNAMODB_ACTIONS = ("dynamodb:*",)
"""Session policies allow all actions, because the role already limits the actions. A short session policy keeps the
session token small."""
ANY_REGION = "*"
"""Session policies allow any region, because the policies of the role already limit the region."""
MAX_SESSION_NAME_LENGTH = 64
"""The limit of AWS for RoleSessionName, in characters."""
THROTTLED_RETRY_SECONDS = 1.0
"""The delay after which a caller may try again if STS throttles a call. STS itself reports no delay."""
_THROTTLING_CODES = {"Throttling", "ThrottlingException", "RequestLimitExceeded"}
_IDENTITY_PROVIDER_ERROR_CODE = "IDPCommunicationError"
"""The error code if STS could not reach the identity provider that issues the credentials of this process.

AWS documents this error as temporary.
"""
_DEPLOYMENT_ERRORS = (NoCredentialsError, PartialCredentialsError, ParamValidationError)
"""Errors of boto3 that do not go away by themselves. All other errors of boto3 mean that STS cannot be reached."""


@dataclass(frozen=True, slots=True)
class StsClient:
    """Assumes the roles whose ARNs begin with `role_arn_prefix`, for a shared table and its silos."""

    client: "STSClient"
    role_arn_prefix: str
    table: str
    session_name: str

    @classmethod
    def connect(
        cls,
        session: boto3.Session,
        role_arn_prefix: str,
        table: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        read_timeout_seconds: float = 2.0,
    ) -> "StsClient":
        """Connects to `endpoint_url`, or else to the regional endpoint of STS.

        Timeouts are short and failed calls are not repeated, because requests of users wait for the session.
        """
        config = client_config(
            endpoint_url,
            connect_timeout=1,
            read_timeout=read_timeout_seconds,
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=STS_THREADS,
            tcp_keepalive=True,
        )
        client = session.client("sts", region_name=region, endpoint_url=endpoint_url, config=config)
        return cls(client, role_arn_prefix, table, default_session_name())

    def __call__(self, spec: SessionSpec, session_seconds: int) -> Credentials:
        """Returns the credentials of a new session. Raises SessionUnavailable or one of its subclasses."""
        try:
            credentials = self.client.assume_role(**self._parameters(spec, session_seconds))["Credentials"]
        except ClientError as error:
            raise _session_error(error) from error
        except ConnectionClosedError as error:
            raise StsConnectionLost(f"STS cannot be reached: {error}") from error
        except _DEPLOYMENT_ERRORS as error:
            raise SessionRefused(f"STS cannot be called: {error}") from error
        except (BotoCoreError, ResponseParserError) as error:
            raise SessionUnavailable(f"STS cannot be reached: {error}") from error
        return Credentials(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])

    def _parameters(self, spec: SessionSpec, session_seconds: int) -> Any:
        tags = [{"Key": SESSION_TAG, "Value": spec.tenant}] if spec.tenant is not None else []
        policy = session_policies(self.role_arn_prefix, self.table)[spec.scope]
        return {
            "RoleArn": f"{self.role_arn_prefix}{spec.role}",
            "RoleSessionName": self.session_name,
            "DurationSeconds": session_seconds,
            **({"Tags": tags} if tags else {}),
            **({"Policy": policy} if policy else {}),
        }


@cache
def session_policies(role_arn_prefix: str, table: str) -> Mapping[SessionScope, str | None]:
    """Returns the session policy of each scope as JSON text, or None for a scope without a session policy.

    `role_arn_prefix` names the account of the table and its silos.
    """
    partition, account = arns.partition_and_account(role_arn_prefix)
    deployment = Deployment(account=account, region=ANY_REGION, table=table, partition=partition)
    return {
        SessionScope.FULL: None,
        SessionScope.READ_ONLY: _policy_json(
            Statement(effect="Allow", sid="Reads", actions=READ_ACTIONS, resources=("*",))
        ),
        SessionScope.POOL: _policy_json(_allow_table("Pool", deployment.table_arn)),
        SessionScope.SILO: _policy_json(_allow_table("Silo", deployment.silo_arn(SESSION_TAG_VARIABLE))),
    }


def default_session_name() -> str:
    """Returns a RoleSessionName with the host and the process id. CloudTrail shows this name for each call."""
    suffix = f"-{os.getpid()}"
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())
    return f"keyfence-{host}"[: MAX_SESSION_NAME_LENGTH - len(suffix)] + suffix


def _allow_table(sid: str, table_arn: str) -> Statement:
    return Statement(
        effect="Allow", sid=sid, actions=ALL_DYNAMODB_ACTIONS, resources=(table_arn, arns.index_arn(table_arn, "*"))
    )


def _policy_json(statement: Statement) -> str:
    return json.dumps(Policy(statements=(statement,)).as_json(), separators=(",", ":"))


def _session_error(error: ClientError) -> SessionUnavailable:
    """Returns the error to raise. It is a SessionRefused unless the same call may succeed later."""
    code = error.response["Error"]["Code"]
    if code in _THROTTLING_CODES:
        return SessionThrottled("STS throttles AssumeRole calls", THROTTLED_RETRY_SECONDS)
    if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500 or code == _IDENTITY_PROVIDER_ERROR_CODE:
        return SessionUnavailable(f"STS fails: {error}")
    return SessionRefused(f"STS rejects AssumeRole: {error}")
