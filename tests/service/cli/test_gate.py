"""keyfence gate checks its options first and then runs until a signal."""

import json
import shlex
import signal
import socket
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfence_iam.credentials import Credentials
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.tenant import TenantId
from tests.service.cli.conftest import Run
from tests.service.cli.keyfence_process import running

NOWHERE = "http://127.0.0.1:1"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=lambda ending: ending.name)
def test_it_prints_its_address_and_denied_calls_as_json_until_a_signal(
    run: Run, tmp_path: Path, ending: signal.Signals
) -> None:
    with running("gate", "--engine-url", NOWHERE, "--port", "0", "--data", str(tmp_path), "--json") as gate:
        gate.read_until("ready")
        ready = json.loads(gate.lines[-1])
        command = ready["credentials"].split()
        assert command[:2] == ["keyfence", "credentials"]
        credentials = json.loads(run(*command[1:]).stdout)
        client = boto3.Session().client(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=ready["endpoint"],
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
        )
        with pytest.raises(ClientError, match="AccessDenied"):
            client.scan(TableName="keyfence")
        gate.read_until("denied")
        denied = json.loads(gate.lines[-1])
        code, output = gate.end(ending)
    assert (code, output) == (0, "")
    assert denied["action"] == "dynamodb:Scan"
    assert denied["session"].endswith("assumed-role/keyfence-tenant-write/local")


def test_a_suspended_tenant_stays_suspended_at_the_next_gate(run: Run, tmp_path: Path) -> None:
    words = ("gate", "--engine-url", NOWHERE, "--port", "0", "--data", str(tmp_path), "--json")
    with running(*words) as gate:
        gate.read_until("ready")
        url = json.loads(gate.lines[-1])["endpoint"]
        assert "explicit deny" not in _denial(run, url, tmp_path, "acme")
        TenantSuspension.connect(
            _credentials(run, tmp_path, "--role", "suspender"), "keyfence-", endpoint_url=url
        ).deny([TenantId("acme")])
        assert "explicit deny" in _denial(run, url, tmp_path, "acme")
        gate.end(signal.SIGTERM)
    with running(*words) as gate:
        gate.read_until("ready")
        url = json.loads(gate.lines[-1])["endpoint"]
        assert "explicit deny" in _denial(run, url, tmp_path, "acme")
        assert "explicit deny" not in _denial(run, url, tmp_path, "globex")
        gate.end(signal.SIGTERM)


def test_a_tenant_may_make_the_call_that_it_prints(run: Run, tmp_path: Path) -> None:
    """The engine does not run, so the call fails behind the gate. A denied call would not get that far."""
    words = ("gate", "--engine-url", NOWHERE, "--port", "0", "--data", str(tmp_path), "--table", "orders")
    with running(*words) as gate:
        gate.read_until("Press Ctrl-C to stop.")
        (line,) = [line for line in gate.lines if " get-item " in line]
        _, _, profile, _, url, _, _, _, table, _, key = shlex.split(line)
        credentials = _credentials(run, tmp_path, "--tenant", profile)
        client = boto3.Session().client(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id=credentials.access_key,
            aws_secret_access_key=credentials.secret_key,
            aws_session_token=credentials.token,
            config=Config(retries={"total_max_attempts": 1}),
        )
        with pytest.raises(ClientError) as raised:
            client.get_item(TableName=table, Key=json.loads(key))
        gate.end(signal.SIGINT)
    assert (table, profile) == ("orders", "acme")
    assert raised.value.response["Error"]["Code"] != "AccessDeniedException"


def _denial(run: Run, url: str, data: Path, tenant: str) -> str:
    """Returns the error of a call that no tenant may make. It needs no engine."""
    credentials = _credentials(run, data, "--tenant", tenant)
    client = boto3.Session().client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token,
    )
    with pytest.raises(ClientError) as raised:
        client.list_tables()
    return str(raised.value)


def _credentials(run: Run, data: Path, *options: str) -> Credentials:
    printed = json.loads(run("credentials", *options, "--data", str(data)).stdout)
    return Credentials(printed["AccessKeyId"], printed["SecretAccessKey"], printed["SessionToken"])


def test_it_prints_its_address_as_text(tmp_path: Path) -> None:
    with running("gate", "--engine-url", NOWHERE, "--port", "0", "--data", str(tmp_path)) as gate:
        gate.read_until("Press Ctrl-C to stop.")
        code, _ = gate.end(signal.SIGINT)
    assert code == 0
    assert f"keyfence credentials --tenant acme --data {tmp_path}" in "\n".join(gate.lines)
    assert "http://127.0.0.1:" in "\n".join(gate.lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine-url", "localhost"], "--engine-url: 'localhost' is not the URL of an engine"),
        (["--engine-url", NOWHERE, "--account", "12"], "--account '12' must be twelve digits."),
        (["--engine-url", NOWHERE, "--region", "moon"], "--region 'moon' must be the name of a region"),
        (["--engine-url", NOWHERE, "--table", "a b"], "--table 'a b' must be 3 to 255 letters"),
        (["--engine-url", NOWHERE, "--faults", "missing.json"], "--faults missing.json cannot be read: No such file"),
    ],
    ids=["engine", "account", "region", "table", "faults"],
)
def test_a_wrong_option_is_an_error(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run("gate", *arguments, "--port", "0", "--data", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr.startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [("[", "not JSON"), ('[{"kind": "error", "nth": 0}]', "faults[0].nth: must be a whole number from 1.")],
    ids=["half a list", "a bad count"],
)
def test_a_wrong_fault_is_an_error_with_its_position(run: Run, tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "faults.json"
    file.write_text(content)
    result = run("gate", "--engine-url", NOWHERE, "--port", "0", "--data", str(tmp_path), "--faults", str(file))
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_busy_port_is_an_error(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run("gate", "--engine-url", NOWHERE, "--port", port, "--data", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr == f"Port {port} on 127.0.0.1 is already in use: choose another one with --port.\n"


def test_help_has_an_example(run: Run) -> None:
    assert "keyfence gate --engine-url http://" in run("gate", "--help").stdout.split("Example: ", 1)[1]
