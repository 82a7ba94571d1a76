"""keyfence table says how the table differs, creates it once, and then finds it right."""

import pytest
from typer.testing import CliRunner

from service.cli import app
from tests.conftest import Engines


@pytest.fixture(params=["moto", "dynoxide"])
def _production(request: pytest.FixtureRequest, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "KEYFENCE_TABLE": "by-command",
        "KEYFENCE_REGION": "us-east-1",
        "KEYFENCE_ENDPOINT_URL": engines[request.param].url,
        "AWS_ACCESS_KEY_ID": "AKIALOCAL00000000000",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_production")
def test_a_missing_table_is_named_created_and_found_right() -> None:
    run = CliRunner()
    missing = run.invoke(app, ["table"])
    assert (missing.exit_code, missing.stderr) == (1, "The table by-command differs:\n  it does not exist\n")
    created = run.invoke(app, ["table", "--create"])
    assert created.stdout == "Created the table by-command.\nThe table by-command is as defined.\n"
    again = run.invoke(app, ["table", "--create"])
    assert again.stdout == "Found the table by-command.\nThe table by-command is as defined.\n"
    assert run.invoke(app, ["table"]).exit_code == 0


def test_nobody_to_ask_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_REGION", "us-east-1")
    monkeypatch.setenv("KEYFENCE_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    refused = CliRunner().invoke(app, ["table"])
    assert refused.exit_code == 1
    assert "Could not connect" in refused.stderr
