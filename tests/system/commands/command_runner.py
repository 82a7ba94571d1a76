"""Runs commands in this process, or in a process of their own that is ended at a given time."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from keyfence.cli import app
from keyfence.local import gate_access
from keyfence_iam.gate.gate import Gate

SECONDS = 120


def invoke(*arguments: str, stdin: str | bytes = "", **variables: str) -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin, env=variables)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    result = invoke(*arguments, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr


def run_json(*arguments: str) -> Any:
    """Runs a command with --json that must succeed, and returns its output."""
    code, out, said = run(*arguments, "--json")
    assert code == 0, said
    return json.loads(out)


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    return process("-m", "keyfence", *arguments)


def process(*arguments: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run_and_end(ending: signal.Signals, due: Callable[[], bool], *arguments: str) -> tuple[int, str]:
    """Runs a command in its own process and ends it when a condition holds. Returns its exit code and its output."""
    with start(*arguments) as running:
        deadline = time.monotonic() + SECONDS
        while not due():
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < deadline
        running.send_signal(ending)
        _, said = running.communicate(timeout=SECONDS)
    return running.returncode, said.decode()


def become(gate: Gate, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the environment as on AWS: credentials of this role, and the gate as the endpoint."""
    base = gate_access.role_session(gate.sessions, role).credentials
    given = {
        "AWS_ACCESS_KEY_ID": base.access_key,
        "AWS_SECRET_ACCESS_KEY": base.secret_key,
        "AWS_SESSION_TOKEN": str(base.token),
        "KEYFENCE_REGION": "us-east-1",
        "KEYFENCE_STS_ENDPOINT_URL": gate.url,
        "KEYFENCE_IAM_ENDPOINT_URL": gate.url,
        "KEYFENCE_ROLE_ARN_PREFIX": gate.account.role_arn_prefix,
        "KEYFENCE_READ_TIMEOUT_SECONDS": "60",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
