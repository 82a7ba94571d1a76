"""Help, version, exit codes and completion."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_group

from keyfence.cli import PANELS, app
from keyfence.cli.interrupts import Interrupted
from tests.service.cli.conftest import Run

HEAVY_MODULES = ["boto3", "strawberry", "starlette", "structlog", "pydantic_settings"]


def commands(group: Any = None, *path: str) -> Iterator[tuple[str, ...]]:
    """Yields the names of every command, as they are typed."""
    for name, command in sorted((group or get_group(app)).commands.items()):
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_has_one_sentence_and_an_example(run: Run, path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    example = result.stdout.split("Example: ", 1)[1]
    assert f"keyfence {' '.join(path)}" in " ".join(example.split())


def test_help_shows_every_command_in_a_group(run: Run) -> None:
    output = run("--help").stdout
    headings = [output.find(f"─ {panel} ─") for panel in PANELS]
    assert headings == sorted(headings)
    assert -1 not in headings
    assert [name for name in get_group(app).commands if f"│ {name} " not in output] == []
    assert "─ Commands ─" not in output


def test_help_names_the_exit_codes(run: Run) -> None:
    assert "0 done, 1 failed, 2 wrong usage, 130 interrupted" in run("--help").stdout


def test_the_version_is_printed(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, "keyfence 0.1.0\n")


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [(["tokn"], "Did you mean 'token'?"), (["token", "--tenat", "acme"], "--tenant")],
    ids=["command", "option"],
)
def test_a_misspelled_name_is_answered_with_a_suggestion(run: Run, arguments: list[str], suggestion: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert suggestion in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["token", "--json"], "BAD_USER_INPUT", 1),
        (["tenant", "list", "--json", "--data", "none"], "BAD_USER_INPUT", 1),
        (["token", "--json", "--tenat", "acme"], "USAGE", 2),
        (["tenant", "list", "--json", "--limit", "0"], "USAGE", 2),
    ],
    ids=["command", "subcommand", "option", "value"],
)
def test_errors_are_json_with_the_option_json(run: Run, arguments: list[str], code: str, exit_code: int) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    error = json.loads(result.stderr)["error"]
    assert (error["code"], bool(error["message"])) == (code, True)


@pytest.mark.parametrize(
    ("raised", "message"),
    [(KeyboardInterrupt(), "Interrupted."), (Interrupted("Interrupted. Continue."), "Interrupted. Continue.")],
    ids=["anywhere", "with advice"],
)
def test_an_interrupted_command_exits_with_130(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, message: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("keyfence.local.development_issuer.load_development_issuer", fail)
    result = run("token", "--admin")
    assert (result.exit_code, result.stderr) == (130, f"{message}\n")


COMPLETE = f"""
import atexit, sys
sys.argv[0] = "keyfence"
atexit.register(lambda: print([name for name in {HEAVY_MODULES} if name in sys.modules], file=sys.stderr))
from keyfence.cli import PANELS, app
app()
"""


def complete(words: str, position: int) -> tuple[list[str], str]:
    """Runs keyfence as bash does for completion. Returns the candidates, and the heavy modules that were loaded."""
    environment = {"_KEYFENCE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(position)}
    command = [sys.executable, "-c", COMPLETE]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines(), done.stderr.strip()


@pytest.mark.parametrize(
    ("words", "position", "candidates"),
    [
        ("keyfence to", 1, ["top", "token"]),
        ("keyfence tenant on", 2, ["onboard"]),
        ("keyfence credentials --re", 2, ["--read-only"]),
    ],
    ids=["command", "subcommand", "option"],
)
def test_bash_completion_loads_no_heavy_module(words: str, position: int, candidates: list[str]) -> None:
    assert complete(words, position) == (candidates, "[]")


def test_the_bash_script_for_completion_can_be_printed(run: Run) -> None:
    assert "COMPLETE=complete_bash" in run("--show-completion", "bash").stdout
