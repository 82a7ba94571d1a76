"""An SDK that gets its credentials from `keyfence credentials` acts as the tenant of the command."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError

from keyfence.app.domain_loading import load_domains
from keyfence.local import gate_access
from keyfence.local.data_directory import data_directory, gate_key
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "credential-process"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_directory(tmp_path / "data")


@pytest.fixture
def gate(engine_url: str, data: Path) -> Iterator[Gate]:
    account = Account.from_definitions(ROLES, Deployment(table=TABLE))
    with Gate.start(engine_url=engine_url, account=account, key=gate_key(data)) as running:
        credentials = gate_access.role_session(running.session_issuer, "provisioner").credentials
        TableAdmin.connect(
            ConnectionOptions(region="us-east-1", endpoint_url=running.url),
            TABLE,
            load_domains().entities.projections,
            credentials,
        ).create()
        yield running


@pytest.fixture
def profile(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes an AWS configuration with two profiles of acme: one that writes and one that only reads."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    command = f"{sys.executable} -m keyfence credentials --tenant acme --data {data}"
    commands = {"acme": command, "reader": f"{command} --read-only"}
    lines = [f"[profile {name}]\ncredential_process = {text}\n" for name, text in commands.items()]
    (tmp_path / "config").write_text("".join(lines))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


def dynamodb(profile: str, gate: Gate) -> "DynamoDBClient":
    return boto3.Session(profile_name=profile).client("dynamodb", region_name="us-east-1", endpoint_url=gate.url)


def item(tenant: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": f"TENANT#{tenant}#USER#1"}, "SK": {"S": "PROFILE"}}


@pytest.mark.usefixtures("profile")
def test_a_client_acts_as_the_tenant_that_the_command_names(gate: Gate) -> None:
    acme, reader = dynamodb("acme", gate), dynamodb("reader", gate)
    acme.put_item(TableName=TABLE, Item=item("acme"))
    assert reader.get_item(TableName=TABLE, Key=item("acme"))["Item"] == item("acme")
    denied_calls: list[Callable[[], object]] = [
        lambda: acme.get_item(TableName=TABLE, Key=item("acmecorp")),
        lambda: acme.put_item(TableName=TABLE, Item=item("globex")),
        lambda: acme.scan(TableName=TABLE),
        lambda: reader.put_item(TableName=TABLE, Item=item("acme")),
    ]
    for call in denied_calls:
        with pytest.raises(ClientError) as denial:
            call()
        assert denial.value.response["Error"]["Code"] == "AccessDeniedException"


@pytest.mark.usefixtures("profile")
def test_sts_returns_the_role_of_the_tenant(gate: Gate) -> None:
    sts = boto3.Session(profile_name="reader").client("sts", region_name="us-east-1", endpoint_url=gate.url)
    assert sts.get_caller_identity()["Arn"] == "arn:aws:sts::000000000000:assumed-role/keyfence-tenant-read/local"
