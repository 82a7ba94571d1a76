"""keyfence credentials prints a session as credential_process wants it, or says in a sentence why not."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyfence.local.data_directory import data_directory, gate_key
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import Session, SessionIssuer
from keyfence_iam.gate.account.session_token import InvalidSessionToken
from keyfence_iam.roles import ROLES

from .conftest import Run, refusal


@pytest.fixture(autouse=True)
def _a_gate_was_started(tmp_path: Path) -> None:
    for directory in (tmp_path / ".keyfence", tmp_path / "d"):
        gate_key(data_directory(directory))


def session(printed: dict[str, Any], directory: Path) -> Session:
    sessions = SessionIssuer(Account.from_definitions(ROLES, Deployment()), gate_key(directory))
    assert printed["SecretAccessKey"] == sessions.secret_of(printed["AccessKeyId"])
    return sessions.get(printed["AccessKeyId"], printed["SessionToken"])


def printed(run: Run, *arguments: object) -> dict[str, Any]:
    result = run("credentials", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(("more", "role"), [([], "keyfence-tenant-write"), (["--read-only"], "keyfence-tenant-read")])
def test_a_tenants_session_is_of_its_role_and_its_tag(run: Run, tmp_path: Path, more: list[str], role: str) -> None:
    said = printed(run, "--tenant", "acme", *more)
    assert sorted(said) == ["AccessKeyId", "Expiration", "SecretAccessKey", "SessionToken", "Version"]
    assert said["Version"] == 1
    found = session(said, tmp_path / ".keyfence")
    assert (found.role.name, found.tags) == (role, {"tenant": "acme"})
    assert (found.expires_at - found.claims.issued_at).total_seconds() == 3600
    assert datetime.strptime(said["Expiration"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) == found.expires_at


@pytest.mark.parametrize("role", ["service-base", "control-plane", "stream-worker", "migrator", "provisioner"])
def test_other_roles_can_be_had_by_name(run: Run, tmp_path: Path, role: str) -> None:
    said = printed(run, "--role", role, "--duration", 1800, "--data", tmp_path / "d")
    found = session(said, tmp_path / "d")
    assert (found.role.name, found.tags) == (f"keyfence-{role}", {})
    assert (found.expires_at - found.claims.issued_at).total_seconds() == 1800


def test_a_gate_of_another_account_has_other_sessions(run: Run, tmp_path: Path) -> None:
    said = printed(run, "--tenant", "acme", "--account", "123456789012")
    sessions = SessionIssuer(
        Account.from_definitions(ROLES, Deployment(account="123456789012")), gate_key(tmp_path / ".keyfence")
    )
    found = sessions.get(said["AccessKeyId"], said["SessionToken"])
    assert found.arn == "arn:aws:sts::123456789012:assumed-role/keyfence-tenant-write/local"
    with pytest.raises(InvalidSessionToken):
        session(said, tmp_path / ".keyfence")


def test_two_sessions_are_never_the_same(run: Run) -> None:
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
def test_what_cannot_be_made_is_said_in_a_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    said = refusal(run("credentials", *arguments))
    assert said.startswith(sentence)
    assert "\n" not in said


def test_a_directory_without_a_key_is_said_in_a_sentence_and_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for directory in (tmp_path / "nowhere", tmp_path / "there"):
        said = refusal(run("credentials", "--tenant", "acme", "--data", directory))
        assert said.startswith(f"There is no gate key in {directory}: ")
        assert f"start `keyfence dev --data {directory}` or `keyfence gate` first" in said
    assert not (tmp_path / "nowhere").exists()
    assert list((tmp_path / "there").iterdir()) == []


def test_a_corrupt_key_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    (data_directory(tmp_path) / "gate-key").write_text("garbage")
    assert "does not contain a gate key" in refusal(run("credentials", "--tenant", "acme", "--data", tmp_path))


def test_an_sdk_does_not_wait_for_what_is_not_needed(tmp_path: Path) -> None:
    gate_key(tmp_path)
    code = (
        "import sys; from keyfence.cli import app; "
        f"app(['credentials', '--tenant', 'acme', '--data', {str(tmp_path)!r}], standalone_mode=False); "
        "heavy = ['boto3', 'moto', 'strawberry', 'starlette', 'uvicorn', 'pydantic_settings']; "
        "print([name for name in heavy if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[1] == "[]"
