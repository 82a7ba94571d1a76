"""Runs commands in this process, or in a process of their own that is ended at a chosen time."""

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
from tests.fakes.fences import INDEX_KEY

TIMEOUT_SECONDS = 120
POLL_SECONDS = 0.02
"""A pause between two looks at the table, so that the command gets the processor."""


def invoke(*arguments: str, stdin: str | bytes = "", **variables: str) -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin, env=variables)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    result = invoke(*arguments, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr


def run_json(*arguments: str) -> Any:
    """Runs a command with --json that must succeed, and returns its output."""
    code, out, error = run(*arguments, "--json")
    assert code == 0, error
    return json.loads(out)


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    return start_python("-m", "keyfence", *arguments)


def start_python(*arguments: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run_and_end(ending: signal.Signals, is_due: Callable[[], bool], *arguments: str) -> tuple[int, str]:
    """Runs a command in its own process and sends `ending` when `is_due` is true. Returns its exit code and stderr."""
    with start(*arguments) as process:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not is_due():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(POLL_SECONDS)
        process.send_signal(ending)
        _, error = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, error.decode()


def use_role_on_aws(gate: Gate, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the variables of a process that runs as this role on AWS, with the gate instead of STS and IAM."""
    credentials = gate_access.role_session(gate.session_issuer, role).credentials
    variables = {
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_SESSION_TOKEN": str(credentials.token),
        "KEYFENCE_REGION": "us-east-1",
        "KEYFENCE_STS_ENDPOINT_URL": gate.url,
        "KEYFENCE_IAM_ENDPOINT_URL": gate.url,
        "KEYFENCE_ROLE_ARN_PREFIX": gate.account.role_arn_prefix,
        "KEYFENCE_INDEX_KEY": INDEX_KEY.removeprefix("dev-"),
        "KEYFENCE_READ_TIMEOUT_SECONDS": "60",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
