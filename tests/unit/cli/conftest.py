"""The commands in this process, with nothing set in the environment."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from keyfence.cli import app

from .fake_app import modules

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("KEYFENCE_", "AWS_"))]:
        monkeypatch.delenv(name)
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run keyfence with these arguments in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def refusal(result: Result) -> str:
    """What was said instead of working: sentences on stderr alone, and exit code 1."""
    assert (result.exit_code, result.stdout) == (1, "")
    assert isinstance(result.exception, SystemExit)
    return result.stderr.rstrip("\n")
