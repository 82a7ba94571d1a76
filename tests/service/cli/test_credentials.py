"""keyfence credentials prints a session in the format of credential_process, or one sentence about what is wrong."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyfence.local.data_directory import GateRecord, data_directory, gate_key, save_gate_record
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import Session, SessionIssuer
from keyfence_iam.gate.account.session_token import InvalidSessionToken
from keyfence_iam.roles import ROLES
from tests.service.cli.conftest import Run, error_message


@pytest.fixture(autouse=True)
def _a_gate_was_started(tmp_path: Path) -> None:
    for directory in (tmp_path / ".keyfence", tmp_path / "d"):
        gate_key(data_directory(directory))


def session(printed: dict[str, Any], directory: Path) -> Session:
    sessions = SessionIssuer(Account.from_definitions(ROLES, Deployment()), gate_key(directory))
    assert printed["SecretAccessKey"] == sessions.secret_key_of(printed["AccessKeyId"])
    return sessions.get(printed["AccessKeyId"], printed["SessionToken"])


def printed(run: Run, *arguments: object) -> dict[str, Any]:
    result = run("credentials", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(("more", "role"), [([], "keyfence-tenant-write"), (["--read-only"], "keyfence-tenant-read")])
def test_a_tenants_session_has_the_role_and_the_tag_of_the_tenant(
    run: Run, tmp_path: Path, more: list[str], role: str
) -> None:
    output = printed(run, "--tenant", "acme", *more)
    assert sorted(output) == ["AccessKeyId", "Expiration", "SecretAccessKey", "SessionToken", "Version"]
    assert output["Version"] == 1
    found = session(output, tmp_path / ".keyfence")
    assert (found.role.name, found.tags) == (role, {"tenant": "acme"})
    assert (found.expires_at - found.claims.issued_at).total_seconds() == 3600
    assert datetime.strptime(output["Expiration"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) == found.expires_at


@pytest.mark.parametrize("role", ["service-base", "control-plane", "stream-worker", "migrator", "provisioner"])
def test_a_session_of_another_role_is_printed_by_its_name(run: Run, tmp_path: Path, role: str) -> None:
    output = printed(run, "--role", role, "--duration", 1800, "--data", tmp_path / "d")
    found = session(output, tmp_path / "d")
    assert (found.role.name, found.tags) == (f"keyfence-{role}", {})
    assert (found.expires_at - found.claims.issued_at).total_seconds() == 1800


def test_a_gate_of_another_account_refuses_the_session(run: Run, tmp_path: Path) -> None:
    output = printed(run, "--tenant", "acme", "--account", "123456789012")
    sessions = SessionIssuer(
        Account.from_definitions(ROLES, Deployment(account="123456789012")), gate_key(tmp_path / ".keyfence")
    )
    found = sessions.get(output["AccessKeyId"], output["SessionToken"])
    assert found.arn == "arn:aws:sts::123456789012:assumed-role/keyfence-tenant-write/local"
    with pytest.raises(InvalidSessionToken):
        session(output, tmp_path / ".keyfence")


def test_each_session_has_an_access_key_of_its_own(run: Run) -> None:
    assert printed(run, "--tenant", "acme")["AccessKeyId"] != printed(run, "--tenant", "acme")["AccessKeyId"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Use either --tenant TENANT or --role ROLE."),
        (["--tenant", "acme", "--role", "migrator"], "Use either --tenant TENANT or --role ROLE."),
        (["--tenant", "ACME"], "--tenant 'ACME' is not a tenant id: "),
        (["--tenant", "a*"], "--tenant 'a*' is not a tenant id: "),
        (["--role", "tenant-write"], "--role 'tenant-write' is not one of service-base, "),
        (["--role", "migrator", "--read-only"], "--read-only needs --tenant."),
        (["--tenant", "acme", "--account", "1234"], "--account '1234' must be twelve digits."),
        (["--tenant", "acme", "--account", "12345678901*"], "--account '12345678901*' must be twelve digits."),
        (["--tenant", "acme", "--account", ""], "--account '' must be twelve digits."),
        (["--tenant", "acme", "--duration", "899"], "--duration must be between 900 and 3600 seconds."),
        (["--tenant", "acme", "--duration", "3601"], "--duration must be between 900 and 3600 seconds."),
    ],
    ids=str,
)
def test_wrong_options_are_answered_with_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    output = error_message(run("credentials", *arguments))
    assert output.startswith(sentence)
    assert "\n" not in output


def test_a_directory_without_a_key_is_an_error_and_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for directory in (tmp_path / "nowhere", tmp_path / "there"):
        output = error_message(run("credentials", "--tenant", "acme", "--data", directory))
        assert output.startswith(f"There is no gate key in {directory}. ")
        assert f"Start `keyfence dev --data {directory}` or `keyfence gate` first" in output
    assert not (tmp_path / "nowhere").exists()
    assert list((tmp_path / "there").iterdir()) == []


def test_a_corrupt_key_is_an_error(run: Run, tmp_path: Path) -> None:
    directory = data_directory(tmp_path / "data")
    (directory / "gate-key").write_text("garbage")
    assert "does not contain a gate key" in error_message(run("credentials", "--tenant", "acme", "--data", directory))


def test_the_command_loads_nothing_heavy_since_sdks_wait_for_it(tmp_path: Path) -> None:
    directory = data_directory(tmp_path / "data")
    gate_key(directory)
    code = (
        "import sys; from keyfence.cli import app; "
        f"app(['credentials', '--tenant', 'acme', '--data', {str(directory)!r}], standalone_mode=False); "
        "heavy = ['boto3', 'moto', 'strawberry', 'starlette', 'uvicorn', 'pydantic_settings']; "
        "print([name for name in heavy if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[1] == "[]"


def test_env_prints_lines_with_which_a_shell_and_an_sdk_reach_the_gate(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / ".keyfence"
    save_gate_record(directory, GateRecord(url="http://127.0.0.1:4711", account="000000000000", region="eu-north-1"))
    result = run("credentials", "--tenant", "acme", "--env")
    assert (result.exit_code, result.stderr) == (0, "")
    shell = subprocess.run(
        ["sh", "-c", f"{result.stdout}\nenv"], capture_output=True, text=True, check=True, env={"PATH": "/bin:/usr/bin"}
    )
    variables = dict(line.split("=", 1) for line in shell.stdout.splitlines() if line.startswith("AWS_"))
    found = session(
        {
            "AccessKeyId": variables["AWS_ACCESS_KEY_ID"],
            "SecretAccessKey": variables["AWS_SECRET_ACCESS_KEY"],
            "SessionToken": variables["AWS_SESSION_TOKEN"],
        },
        directory,
    )
    assert found.tags == {"tenant": "acme"}
    assert variables["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4711"
    assert variables["AWS_REGION"] == variables["AWS_DEFAULT_REGION"] == "eu-north-1"


def test_env_needs_a_gate_that_was_started(run: Run, tmp_path: Path) -> None:
    result = run("credentials", "--tenant", "acme", "--env")
    assert result.exit_code == 1
    assert "Start `keyfence dev` or `keyfence gate` first" in error_message(result)
