"""The client sends the intended parameters of AssumeRole and translates the errors of STS."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from botocore.stub import Stubber

from keyfence_iam.boto_session import default_boto_session
from keyfence_iam.credentials import Credentials
from keyfence_iam.sts.session_spec import (
    SessionRefused,
    SessionSpec,
    SessionThrottled,
    SessionUnavailable,
    StsConnectionLost,
    TableAccess,
    control_plane_session,
    migration_session,
    tenant_session,
)
from keyfence_iam.sts.sts_client import StsClient, default_session_name
from keyfence_iam.tenant import TenantId
from tests.fakes.sts import reads

ROLE_ARN_PREFIX = "arn:aws:iam::123456789012:role/keyfence-"
STS_RESPONSE = {
    "Credentials": {
        "AccessKeyId": "ASIA0123456789ABCDEF",
        "SecretAccessKey": "secret",
        "SessionToken": "token",
        "Expiration": "2030-01-01T00:00:00Z",
    }
}


@pytest.fixture
def sts() -> StsClient:
    session = boto3.Session("AKIA", "secret", region_name="eu-west-1")
    return StsClient.connect(session, ROLE_ARN_PREFIX, "keyfence", region="eu-west-1")


@pytest.fixture
def stub(sts: StsClient) -> Iterator[Stubber]:
    with Stubber(sts.client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


ACME, TABLE_ARN = TenantId("acme"), "arn:aws:dynamodb:*:123456789012:table/keyfence"
SILO_ARN = f"{TABLE_ARN}-silo-${{aws:PrincipalTag/tenant}}"


@pytest.mark.parametrize(
    ("spec", "role"),
    [
        (tenant_session(ACME, may_write=False, table_access=TableAccess.BOTH), "tenant-read"),
        (tenant_session(ACME, may_write=True, table_access=TableAccess.BOTH), "tenant-write"),
        (migration_session(ACME, table_access=TableAccess.BOTH), "tenant-migration"),
    ],
)
def test_the_tenant_is_the_only_tag_of_a_tenant_session(
    sts: StsClient, stub: Stubber, spec: SessionSpec, role: str
) -> None:
    expected = {
        "RoleArn": f"{ROLE_ARN_PREFIX}{role}",
        "RoleSessionName": sts.session_name,
        "DurationSeconds": 900,
        "Tags": [{"Key": "tenant", "Value": "acme"}],
    }
    stub.add_response("assume_role", STS_RESPONSE, expected)
    assert sts(spec, 900) == Credentials("ASIA0123456789ABCDEF", "secret", "token")


@pytest.mark.parametrize(("table_access", "table"), [(TableAccess.POOL, TABLE_ARN), (TableAccess.SILO, SILO_ARN)])
def test_a_tenants_session_is_limited_to_its_table_by_a_session_policy(
    sts: StsClient, table_access: TableAccess, table: str
) -> None:
    specs = [tenant_session(ACME, may_write=may_write, table_access=table_access) for may_write in (False, True)]
    for spec in (*specs, migration_session(ACME, table_access=table_access)):
        parameters = sts._parameters(spec, 900)
        (statement,) = json.loads(parameters["Policy"])["Statement"]
        assert statement["Resource"] == [table, f"{table}/index/*"]
        assert parameters["Tags"] == [{"Key": "tenant", "Value": "acme"}]
        assert "acme" not in parameters["Policy"], "the policy is the same for all tenants"


def test_the_control_plane_role_is_assumed_without_tags(sts: StsClient, stub: Stubber) -> None:
    expected = {
        "RoleArn": f"{ROLE_ARN_PREFIX}control-plane",
        "RoleSessionName": sts.session_name,
        "DurationSeconds": 1800,
    }
    stub.add_response("assume_role", STS_RESPONSE, expected)
    sts(control_plane_session(may_write=True), 1800)


def test_a_read_only_control_plane_session_is_limited_to_reads(sts: StsClient) -> None:
    parameters = sts._parameters(control_plane_session(may_write=False), 900)
    (statement,) = json.loads(parameters["Policy"])["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Action"] == ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
    assert len(parameters["Policy"]) < 2048
    assert "Tags" not in parameters


@pytest.mark.parametrize(
    ("code", "status", "error_type"),
    [
        ("AccessDenied", 403, SessionRefused),
        ("ExpiredToken", 403, SessionRefused),
        ("MalformedPolicyDocument", 400, SessionRefused),
        ("RegionDisabledException", 403, SessionRefused),
        ("Throttling", 400, SessionThrottled),
        ("IDPCommunicationError", 400, SessionUnavailable),
        ("InternalFailure", 500, SessionUnavailable),
        ("503", 503, SessionUnavailable),
    ],
)
def test_an_error_of_sts_is_temporary_or_a_refusal(
    sts: StsClient, stub: Stubber, code: str, status: int, error_type: type[SessionUnavailable]
) -> None:
    stub.add_client_error("assume_role", code, "because", http_status_code=status)
    with pytest.raises(SessionUnavailable, match="STS") as error:
        sts(reads("acme"), 900)
    assert type(error.value) is error_type


@pytest.mark.parametrize(
    ("failure", "error_type", "text"),
    [
        (ConnectTimeoutError(endpoint_url="https://sts"), SessionUnavailable, "STS cannot be reached: Connect timeout"),
        (ReadTimeoutError(endpoint_url="https://sts"), SessionUnavailable, "STS cannot be reached: Read timeout"),
        (EndpointConnectionError(endpoint_url="https://sts"), SessionUnavailable, "STS cannot be reached: Could not"),
        (ResponseParserError("invalid XML received"), SessionUnavailable, "STS cannot be reached: invalid XML"),
        (NoCredentialsError(), SessionRefused, "STS cannot be called: Unable to locate credentials"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_the_network_is_temporary_and_missing_credentials_are_not(
    sts: StsClient,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    error_type: type[SessionUnavailable],
    text: str,
) -> None:
    def fail(**_: Any) -> None:
        raise failure

    monkeypatch.setattr(sts.client, "assume_role", fail)
    with pytest.raises(error_type, match=text) as error:
        sts(reads("acme"), 900)
    assert type(error.value) is error_type


def test_a_closed_connection_raises_and_boto3_does_not_retry_it(
    sts: StsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def close_connection(**call: Any) -> Any:
        calls.append(call)
        raise ConnectionClosedError(endpoint_url="https://sts.eu-west-1.amazonaws.com")

    monkeypatch.setattr(sts.client, "assume_role", close_connection)
    with pytest.raises(StsConnectionLost, match="STS cannot be reached: Connection was closed"):
        sts(reads("acme"), 900)
    assert len(calls) == 1


def test_the_regional_endpoint_of_sts_is_called_also_in_us_east_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_STS_REGIONAL_ENDPOINTS", "legacy")
    client = StsClient.connect(default_boto_session(), ROLE_ARN_PREFIX, "keyfence", region="us-east-1")
    assert client.client.meta.endpoint_url == "https://sts.us-east-1.amazonaws.com"


def test_a_machine_without_credentials_raises_no_credentials_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(NoCredentialsError):
        default_boto_session()


@pytest.mark.parametrize("host", ["web-1.example.com", "näme with blanks", "x" * 300, "", "a/b:c#d$e"])
def test_the_session_name_contains_host_and_process(
    host: str, monkeypatch: pytest.MonkeyPatch, process_id: Callable[[], int]
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: host)
    name = default_session_name()
    assert re.fullmatch(r"[A-Za-z0-9.-]{2,64}", name)
    assert name.startswith("keyfence-")
    assert name.endswith(f"-{process_id()}")


@pytest.fixture
def process_id(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    monkeypatch.setattr("os.getpid", lambda: 4194304)
    return lambda: 4194304
