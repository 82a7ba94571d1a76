"""Commands of keyfence tenant show examples in their help and check their options first."""

import getpass
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.main import get_group

from keyfence.cli.operator_session import operator_name
from keyfence.cli.tenant import tenant
from keyfence.cli.terminal_output import colored_status, escape_markup, print_table
from keyfence.errors import BadInput
from tests.service.cli.conftest import Run, error_message
from tests.service.cli.tenant_changes import CHANGES

COMMANDS = sorted(get_group(tenant).commands)
OWNER = ["--name", "N", "--owner-email", "o@n.example", "--owner-name", "O", "--issuer", "https://id.n.example"]
HEAVY = ("boto3", "strawberry", "pydantic", "structlog", "rich")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(run: Run, command: str) -> None:
    output = run("tenant", command, "--help").stdout
    assert f"Example: keyfence tenant {command}" in output


def test_help_names_every_command(run: Run) -> None:
    output = run("tenant", "--help").stdout
    assert {"list", "show", "onboard", "usage", "offboard", *CHANGES} <= set(COMMANDS)
    assert [command for command in COMMANDS if f" {command} " not in output] == []


@pytest.mark.parametrize("command", ["show", *CHANGES])
def test_a_wrong_tenant_id_is_an_error(run: Run, command: str) -> None:
    output = error_message(run("tenant", command, "ACME", *CHANGES.get(command, [])))
    assert output.startswith("TENANT 'ACME' is not a tenant id: a tenant id is 2 to 32 characters")


@pytest.mark.parametrize("command", ["list", "show", "usage", "onboard", *CHANGES])
def test_without_a_gate_key_nothing_is_created(run: Run, tmp_path: Path, command: str) -> None:
    arguments = ["acme", *CHANGES.get(command, [])]
    if command == "onboard":
        arguments = ["acme", *OWNER, "--jwks-uri", "https://id.n.example/keys"]
    output = error_message(
        run("tenant", command, *(arguments if command != "list" else []), "--data", tmp_path / "none")
    )
    assert output.startswith(f"There is no gate key in {tmp_path / 'none'}. ")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("command", [["onboard", "acme", *OWNER], ["keys", "acme"]], ids=["onboard", "keys"])
def test_keys_come_from_a_file_or_a_url_not_both(run: Run, command: list[str]) -> None:
    output = error_message(run("tenant", *command, "--jwks", "keys", "--jwks-uri", "https://id.n.example/keys"))
    assert output == "The issuer's keys have one source: give only one of --jwks, --jwks-uri and --discover."


def test_discovered_keys_have_no_other_source(run: Run) -> None:
    output = error_message(run("tenant", "keys", "acme", "--discover", "--jwks-uri", "https://id.n.example/keys"))
    assert output.startswith("The issuer's keys have one source")


def test_the_command_for_keys_needs_keys_or_a_mapping(run: Run) -> None:
    output = error_message(run("tenant", "keys", "acme"))
    assert output.startswith("Say where the issuer's keys are: --jwks FILE, --jwks-uri URL or --discover.")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "keys cannot be read: No such file or directory."),
        (b"{", "keys is not JSON: "),
        (b"\xff", "keys is not JSON: "),
        (b"[]", 'keys is not a key set. Its form must be {"keys": [...]}.'),
    ],
    ids=["gone", "torn", "no-text", "list"],
)
def test_a_file_without_keys_is_an_error(run: Run, tmp_path: Path, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / "keys").write_bytes(content)
    assert error_message(run("tenant", "keys", "acme", "--jwks", "keys")).startswith(sentence)


@pytest.mark.parametrize("command", [["onboard", "acme", *OWNER], ["keys", "acme"]], ids=["onboard", "keys"])
def test_a_mapping_that_is_not_an_object_is_an_error(run: Run, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "mapping").write_text('["tenant"]')
    output = error_message(run("tenant", *command, "--mapping", "mapping"))
    assert output == "mapping is not a claim mapping. It must be a JSON object."


def test_quotas_without_a_quota_is_an_error_with_advice(run: Run) -> None:
    output = error_message(run("tenant", "quotas", "acme"))
    assert output == "Set at least one quota, such as --users 2000. `keyfence tenant show acme` shows all quotas."


@pytest.mark.parametrize(
    "arguments",
    [
        ["tier", "acme", "GOLD"],
        ["quotas", "acme", "--users", "0"],
        ["quotas", "acme", "--storage-mb", "1000000001"],
        ["list", "--status", "ASLEEP"],
        ["list", "--limit", "0"],
        ["show", "acme", "--events", "101"],
        ["usage", "acme", "--from", "yesterday"],
        ["suspend", "acme"],
        ["onboard", "acme"],
    ],
    ids=" ".join,
)
def test_a_value_out_of_range_is_a_usage_error(run: Run, arguments: list[str]) -> None:
    assert run("tenant", *arguments).exit_code == 2


def test_the_name_of_an_operator_has_a_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert operator_name("ann") == "cli:ann"
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    assert operator_name(None) == "cli:somebody"


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 257], ids=["none", "two-lines", "long"])
def test_an_operators_name_must_be_one_printable_line(name: str) -> None:
    with pytest.raises(BadInput, match="--as must be 1 to 256 printable characters"):
        operator_name(name)


def test_on_a_narrow_terminal_only_the_last_column_is_cut() -> None:
    out = Console(width=40, record=True, file=StringIO())
    rows = [
        ("2026-11-16", colored_status("ACTIVE"), escape_markup("[b]ann"), "x" * 60),
        ("2026-11-17", colored_status("SUSPENDED"), "", "y"),
    ]
    print_table(out, ("AT", "STATUS", "BY", "DETAIL"), rows)
    assert [line.split() for line in out.export_text().splitlines()] == [
        ["AT", "STATUS", "BY", "DETAIL"],
        ["2026-11-16", "ACTIVE", "[b]ann", "x" * 8 + "…"],
        ["2026-11-17", "SUSPENDED", "y"],
    ]


def test_a_table_without_rows_has_headings() -> None:
    out = Console(width=40, record=True, file=StringIO())
    print_table(out, ("AT", "DETAIL"), [])
    assert out.export_text().split() == ["AT", "DETAIL"]


def test_help_loads_nothing_heavy() -> None:
    code = f"import sys, keyfence.cli; print([name for name in {HEAVY} if name in sys.modules])"
    root = Path(__file__).parents[3]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
