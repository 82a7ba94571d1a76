"""Help shows how each command is used."""

import pytest

from .conftest import Run


@pytest.mark.parametrize(
    "command",
    ["dev", "serve", "gate", "top", "hot", "table", "token", "credentials", "import", "export", "schema", "patterns"],
)
def test_every_command_teaches_by_an_example(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example: " in result.stdout
    assert f"keyfence {command}" in result.stdout.split("Example: ", 1)[1]


def test_help_names_every_command(run: Run) -> None:
    said = run("--help").stdout
    assert all(
        command in said
        for command in (
            "dev",
            "serve",
            "gate",
            "top",
            "hot",
            "token",
            "credentials",
            "policy",
            "tenant",
            "schema",
            "patterns",
        )
    )
