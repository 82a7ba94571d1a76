"""keyfence token prints only a token, or one sentence about what is wrong."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jwt
import pytest

from keyfence.local.data_directory import data_directory
from keyfence.local.development_issuer import load_development_issuer
from tests.service.cli.conftest import Run, error_message

ISSUER = "https://id.initech.example"


def claims(token: str, directory: Path) -> dict[str, Any]:
    (key,) = jwt.PyJWKSet.from_dict(load_development_issuer(directory).jwks()).keys
    return jwt.decode(token, key, algorithms=["ES256"], audience=["keyfence", "keyfence-admin"])


def test_by_default_a_token_has_the_role_member_and_is_valid_for_an_hour(run: Run, tmp_path: Path) -> None:
    result = run("token", "--tenant", "acme")
    assert (result.exit_code, result.stderr) == (0, "")
    found = claims(result.stdout.strip(), tmp_path / ".keyfence")
    assert (found["aud"], found["tenant"], found["sub"], found["role"]) == ("keyfence", "acme", "local-acme", "MEMBER")
    assert found["exp"] - found["iat"] == 3600


def test_options_set_every_claim(run: Run, tmp_path: Path) -> None:
    options = ("--tenant", "globex", "--user", "usr_1", "--role", "admin", "--ttl", 5, "--data", tmp_path / "d")
    found = claims(run("token", *options).stdout.strip(), tmp_path / "d")
    assert (found["tenant"], found["sub"], found["role"]) == ("globex", "usr_1", "ADMIN")
    assert found["exp"] - found["iat"] == 5


def test_an_operators_token_has_the_operators_audience(run: Run, tmp_path: Path) -> None:
    found = claims(run("token", "--admin").stdout.strip(), tmp_path / ".keyfence")
    assert (found["aud"], found["sub"]) == ("keyfence-admin", "local-operator")


def test_the_directory_can_be_set_in_the_environment(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_DATA", str(tmp_path / "elsewhere"))
    assert claims(run("token", "--admin").stdout.strip(), tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Use either --tenant TENANT or --admin."),
        (["--tenant", "acme", "--admin"], "Use either --tenant TENANT or --admin."),
        (["--tenant", "ACME"], "--tenant 'ACME' is not a tenant id: "),
        (["--tenant", ""], "--tenant '' is not a tenant id: "),
        (["--tenant", "acme", "--role", "KING"], "--role 'KING' is not one of OWNER, ADMIN, MEMBER, VIEWER."),
        (["--tenant", "acme", "--role", ""], "--role '' is not one of "),
        (["--admin", "--role", "OWNER"], "--role needs --tenant"),
        (["--tenant", "acme", "--user", ""], "--user must be 1 to 256 printable characters."),
        (["--tenant", "acme", "--user", "a\nb"], "--user must be 1 to 256 printable characters."),
        (["--tenant", "acme", "--ttl", "0"], "--ttl must be between 1 and 2592000 seconds."),
        (["--tenant", "acme", "--ttl", "2592001"], "--ttl must be between 1 and 2592000 seconds."),
    ],
    ids=str,
)
def test_wrong_options_are_answered_with_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    output = error_message(run("token", *arguments))
    assert output.startswith(sentence)
    assert "\n" not in output


def test_an_unusable_directory_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert error_message(run("token", "--admin", "--data", tmp_path / "file")).endswith("cannot be used: File exists.")


def test_a_corrupt_key_is_an_error(run: Run, tmp_path: Path) -> None:
    (data_directory(tmp_path) / "issuer-key.pem").write_text("garbage")
    assert "does not contain a private key" in error_message(run("token", "--admin", "--data", tmp_path))


def test_the_command_loads_neither_engines_nor_the_service(tmp_path: Path) -> None:
    code = (
        "import sys; from keyfence.cli import app; "
        f"app(['token', '--admin', '--data', {str(tmp_path)!r}], standalone_mode=False); "
        "heavy = ['boto3', 'moto', 'strawberry', 'starlette', 'uvicorn', 'pydantic_settings', 'asyncio']; "
        "print([name for name in heavy if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[1] == "[]"


def test_stdout_has_only_the_token(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keyfence", "token", "--tenant", "acme", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert claims(done.stdout.removesuffix("\n"), tmp_path)["tenant"] == "acme"


def test_an_error_has_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keyfence", "token", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Use either --tenant TENANT or --admin.\n")


def test_a_token_can_be_printed_as_json(run: Run, tmp_path: Path) -> None:
    printed = json.loads(run("token", "--admin", "--ttl", 5, "--json").stdout)
    assert printed["expiresIn"] == 5
    assert claims(printed["token"], tmp_path / ".keyfence")["aud"] == "keyfence-admin"


def test_a_tenants_issuer_gets_a_key_and_signs_its_tokens(run: Run, tmp_path: Path) -> None:
    key_set = json.loads(run("jwks", "--issuer", ISSUER).stdout)
    assert json.loads(run("jwks", "--issuer", ISSUER).stdout) == key_set
    token = run("token", "--tenant", "initech", "--issuer", ISSUER).stdout.strip()
    (key,) = jwt.PyJWKSet.from_dict(key_set).keys
    found = jwt.decode(token, key, algorithms=["ES256"], audience="keyfence", issuer=ISSUER)
    assert (found["tenant"], found["iss"]) == ("initech", ISSUER)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["token", "--tenant", "initech", "--issuer", ISSUER], "The data directory .keyfence has no key of the issuer"),
        (["token", "--admin", "--issuer", ISSUER], "--issuer needs --tenant: "),
        (["jwks", "--issuer", "http://id.initech.example"], "--issuer 'http://id.initech.example' must be an https://"),
    ],
    ids=["no key", "operator", "no https"],
)
def test_an_issuer_that_cannot_be_used_is_an_error(run: Run, arguments: list[str], sentence: str) -> None:
    assert error_message(run(*arguments)).startswith(sentence)
