"""keyfence table reports how the table differs from its definition, and creates it once."""

import json

import pytest
from typer.testing import CliRunner

from keyfence.app.domain_loading import load_domains
from keyfence.cli import app
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin, table_definition
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles.names import SERVICE_BASE
from tests.stack import ServiceStack
from tests.system.commands.command_runner import use_role_on_aws


@pytest.fixture
def _aws_variables(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "KEYFENCE_TABLE": "by-command",
        "KEYFENCE_REGION": "us-east-1",
        "KEYFENCE_ENDPOINT_URL": engine_url,
        "AWS_ACCESS_KEY_ID": "AKIALOCAL00000000000",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_aws_variables")
def test_a_missing_table_is_reported_then_created_and_then_matches_its_definition() -> None:
    run = CliRunner()
    missing = run.invoke(app, ["table"])
    assert (missing.exit_code, missing.stderr.splitlines()[:2]) == (
        1,
        ["The table by-command differs from its definition:", "  it does not exist"],
    )
    assert "--create creates a missing table" in missing.stderr
    created = run.invoke(app, ["table", "--create"])
    assert created.stdout == "Created the table by-command.\nThe table by-command matches its definition.\n"
    again = run.invoke(app, ["table", "--create"])
    assert again.stdout == "Found the table by-command.\nThe table by-command matches its definition.\n"
    assert run.invoke(app, ["table"]).exit_code == 0
    as_json = run.invoke(app, ["table", "--create", "--json"])
    assert json.loads(as_json.stdout) == {"table": "by-command", "created": False, "differences": []}


@pytest.mark.usefixtures("_aws_variables")
def test_a_table_that_differs_is_reported_with_what_to_do(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_TABLE", "by-another-version")
    other_definition = table_definition("by-another-version", load_domains().entities.projections)
    other_definition["GlobalSecondaryIndexes"][2]["Projection"]["NonKeyAttributes"].remove("totals")
    TableAdmin.connect(
        ConnectionOptions(region="us-east-1", endpoint_url=engine_url), other_definition["TableName"], {}
    ).client.create_table(**other_definition)
    output = CliRunner().invoke(app, ["table", "--create"])
    assert (output.exit_code, output.stdout) == (1, "Found the table by-another-version.\n")
    assert output.stderr.splitlines()[:2] == [
        "The table by-another-version differs from its definition:",
        "  the index GSI3 does not project totals",
    ]
    assert "name another table with KEYFENCE_TABLE" in output.stderr


def test_an_endpoint_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYFENCE_REGION", "us-east-1")
    monkeypatch.setenv("KEYFENCE_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    refused = CliRunner().invoke(app, ["table"])
    assert refused.exit_code == 1
    assert "Could not connect" in refused.stderr


def test_a_denied_call_is_an_error_that_names_the_needed_role(
    gate: Gate, stack: ServiceStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_role_on_aws(gate, SERVICE_BASE, monkeypatch)
    monkeypatch.setenv("KEYFENCE_TABLE", stack.settings.table)
    monkeypatch.setenv("KEYFENCE_ENDPOINT_URL", gate.url)
    refused = CliRunner().invoke(app, ["table"])
    assert refused.exit_code == 1
    assert "AccessDeniedException" in refused.stderr
    assert "The command needs credentials of the role `provisioner`." in refused.stderr


def test_a_missing_region_is_named() -> None:
    refused = CliRunner().invoke(app, ["table"])
    assert (refused.exit_code, refused.stderr.split()[0]) == (1, "KEYFENCE_REGION")
