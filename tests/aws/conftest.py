"""A real AWS account. Environment variables name a table for the tests and the deployed roles."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import boto3
import pytest

from keyfence_iam.boto_session import default_boto_session
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import SessionSpec, suspender_session
from keyfence_iam.sts.sts_client import StsClient
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.tenant import TenantId
from tests.isolation.partitions import Caller

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sts import STSClient

TABLE_VARIABLE, ROLES_VARIABLE = "KEYFENCE_TEST_TABLE", "KEYFENCE_TEST_ROLES"
INSTRUCTIONS = (
    f"set {TABLE_VARIABLE} to the name of a table that tests may write to,"
    f" and {ROLES_VARIABLE} to the ARN prefix of the deployed roles"
)


@dataclass
class Aws:
    """The account, with the credentials of the role `service-base`."""

    table: str
    role_arn_prefix: str
    _client_by_caller: dict[Caller, "DynamoDBClient"] = field(default_factory=dict)

    @cached_property
    def session(self) -> boto3.Session:
        return default_boto_session()

    @cached_property
    def sts(self) -> "STSClient":
        return self.session.client("sts")

    def service_client(self) -> "DynamoDBClient":
        return self.session.client("dynamodb")

    def client(self, caller: Caller) -> "DynamoDBClient":
        if caller not in self._client_by_caller:
            tenant = None if caller.tenant is None else TenantId(caller.tenant)
            self._client_by_caller[caller] = self._client_with(self._assume(SessionSpec(caller.role, tenant)))
        return self._client_by_caller[caller]

    def suspender(self) -> TenantSuspension:
        credentials = self._assume(suspender_session())
        role_name_prefix = self.role_arn_prefix.rpartition("/")[2]
        return TenantSuspension.connect(credentials, role_name_prefix, region=self.session.region_name)

    def _assume(self, spec: SessionSpec) -> Credentials:
        return StsClient.connect(self.session, self.role_arn_prefix, self.table)(spec, 900)

    def _client_with(self, credentials: Credentials) -> "DynamoDBClient":
        return self.session.client(
            "dynamodb",
            aws_access_key_id=credentials.access_key,
            aws_secret_access_key=credentials.secret_key,
            aws_session_token=credentials.token,
        )


@pytest.fixture(scope="session")
def aws() -> Aws:
    table, role_arn_prefix = os.environ.get(TABLE_VARIABLE), os.environ.get(ROLES_VARIABLE)
    if not table or not role_arn_prefix:
        pytest.fail(INSTRUCTIONS)
    return Aws(table, role_arn_prefix)
