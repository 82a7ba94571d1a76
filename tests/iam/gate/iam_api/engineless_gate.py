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

KEY = b"a gate's key is of 32 bytes, yes"
NOWHERE = "http://127.0.0.1:1"
READ, WRITE = "keyfence-tenant-read", "keyfence-tenant-write"
DENY = '{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}'

_boto = boto3.Session()


@contextmanager
def gate(**options: Any) -> Iterator[Gate]:
    account = options.pop("account", None) or Account.from_definitions(ROLES, Deployment())
    with Gate.start(engine_url=NOWHERE, account=account, key=KEY, **options) as running:
        yield running


def assumed_credentials(gate: Gate, role: str, by: str = "service-base", **tags: str) -> Credentials:
    arn = gate.account.get_role(role).arn
    assumption = AssumeRoleRequest(role_arn=arn, session_name="tester", tags=tags)
    return assume_role(assumption, gate.sessions.issue_service_session(by).session, gate.sessions).credentials


def client(gate: Gate, credentials: Credentials, service: Any = "iam", region: str = "us-east-1") -> Any:
    return _boto.client(
        service,
        region_name=region,
        endpoint_url=gate.url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )


def suspender(gate: Gate, **how: Any) -> Any:
    return client(gate, assumed_credentials(gate, "suspender"), **how)


def put(client: Any, role: str = READ, name: str = "one", document: str = DENY) -> Any:
    return client.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=document)


@contextmanager
def refused(code: str, status: int, words: str = "") -> Iterator[None]:
    with pytest.raises(ClientError) as refusal:
        yield
    answer = refusal.value.response
    assert (answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]) == (code, status)
    assert words in answer["Error"]["Message"]
