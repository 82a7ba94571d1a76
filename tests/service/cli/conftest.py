"""Runs commands in this process, without KEYFENCE_* and AWS_* variables."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from keyfence.cli import app
from tests.service.cli.fake_app import modules

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("KEYFENCE_", "AWS_"))]:
        monkeypatch.delenv(name)
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run keyfence with these arguments in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def error_message(result: Result) -> str:
    """Returns the error message of a command that failed with exit code 1 and printed nothing on stdout."""
    assert (result.exit_code, result.stdout) == (1, "")
    assert isinstance(result.exception, SystemExit)
    return result.stderr.rstrip("\n")
