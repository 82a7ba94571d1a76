"""A real AWS account: a table for the tests and the deployed roles, named by environment variables."""

import os
from dataclasses import dataclass, field
from functools import cached_property

import boto3
import pytest
from mypy_boto3_dynamodb import DynamoDBClient
from mypy_boto3_sts import STSClient

from keyfence_iam.boto_session import default_boto_session
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import SessionSpec, suspender_session
from keyfence_iam.sts.sts_client import StsClient
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.tenant import TenantId
from tests.isolation.partitions import Caller

TABLE, ROLES = "KEYFENCE_TEST_TABLE", "KEYFENCE_TEST_ROLES"
WHY = f"name a table that may be written to in {TABLE} and the ARN prefix of the deployed roles in {ROLES}"


@dataclass
class Aws:
    """The account, with the credentials of the service's role."""

    table: str
    roles: str
    _clients: dict[Caller, DynamoDBClient] = field(default_factory=dict)

    @cached_property
    def session(self) -> boto3.Session:
        return default_boto_session()

    @cached_property
    def sts(self) -> STSClient:
        return self.session.client("sts")

    def own_client(self) -> DynamoDBClient:
        return self.session.client("dynamodb")

    def client(self, caller: Caller) -> DynamoDBClient:
        if caller not in self._clients:
            tenant = None if caller.tenant is None else TenantId(caller.tenant)
            self._clients[caller] = self._as(self._assumed(SessionSpec(caller.role, tenant)))
        return self._clients[caller]

    def suspender(self) -> TenantSuspension:
        credentials = self._assumed(suspender_session())
        return TenantSuspension.connect(credentials, self.roles.rpartition("/")[2], region=self.session.region_name)

    def _assumed(self, spec: SessionSpec) -> Credentials:
        return StsClient.connect(self.session, self.roles, self.table)(spec, 900)

    def _as(self, credentials: Credentials) -> DynamoDBClient:
        return self.session.client(
            "dynamodb",
            aws_access_key_id=credentials.access_key,
            aws_secret_access_key=credentials.secret_key,
            aws_session_token=credentials.token,
        )


@pytest.fixture(scope="session")
def aws() -> Aws:
    table, roles = os.environ.get(TABLE), os.environ.get(ROLES)
    if not table or not roles:
        pytest.fail(WHY)
    return Aws(table, roles)
