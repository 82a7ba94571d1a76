"""A gate without an engine, and clients of its IAM API."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfence_iam.credentials import Credentials
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.assume_role import AssumeRoleRequest, assume_role
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES

GATE_KEY = b"k" * 32
UNREACHABLE_ENGINE = "http://127.0.0.1:1"
READ_ROLE, WRITE_ROLE = "keyfence-tenant-read", "keyfence-tenant-write"
DENY_POLICY = '{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}'

_boto = boto3.Session()


@contextmanager
def start_gate(**options: Any) -> Iterator[Gate]:
    account = options.pop("account", None) or Account.from_definitions(ROLES, Deployment())
    with Gate.start(engine_url=UNREACHABLE_ENGINE, account=account, key=GATE_KEY, **options) as running:
        yield running


def assumed_credentials(gate: Gate, role: str, caller_role: str = "service-base", **tags: str) -> Credentials:
    arn = gate.account.get_role(role).arn
    request = AssumeRoleRequest(role_arn=arn, session_name="tester", tags=tags)
    return assume_role(
        request, gate.session_issuer.issue_service_session(caller_role).session, gate.session_issuer
    ).credentials


def boto_client(gate: Gate, credentials: Credentials, service: Any = "iam", region: str = "us-east-1") -> Any:
    return _boto.client(
        service,
        region_name=region,
        endpoint_url=gate.url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )


def suspender_client(gate: Gate, **options: Any) -> Any:
    return boto_client(gate, assumed_credentials(gate, "suspender"), **options)


def put_policy(client: Any, role: str = READ_ROLE, name: str = "one", document: str = DENY_POLICY) -> Any:
    return client.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=document)


@contextmanager
def expect_error(code: str, status: int, message_part: str = "") -> Iterator[None]:
    """Fails unless the block raises this error."""
    with pytest.raises(ClientError) as error:
        yield
    answer = error.value.response
    assert (answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    assert message_part in answer["Error"]["Message"]
