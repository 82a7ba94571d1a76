"""`keyfence dev` serves the demo tenants, keeps its data, and refuses data of another version."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.local.data_directory import data_directory
from keyfence.local.engines import dynoxide
from keyfence.store.dynamodb.client import ConnectionOptions
from keyfence.store.dynamodb.table_definition import TableAdmin, table_definition
from keyfence_iam.credentials import Credentials
from tests.engines import dynoxide_binary

START_SECONDS = 60
PORTS = ("--port", "0", "--gate-port", "0")
USERS = "{ users(first: 50) { edges { node { email } } } }"


@pytest.fixture
def engine(engine_name: str, tmp_path: Path) -> str:
    if engine_name == "dynoxide":
        _link_dynoxide(tmp_path)
    return engine_name


def _link_dynoxide(directory: Path) -> None:
    (directory / "dynoxide").symlink_to(dynoxide_binary())


def _table_of_another_version(directory: Path) -> None:
    definition = table_definition("keyfence", load_domains().entities.projections)
    first, second, _ = definition["GlobalSecondaryIndexes"]
    first["Projection"]["NonKeyAttributes"].remove("totals")
    for key, kind in zip(second["KeySchema"], ("RANGE", "HASH"), strict=True):
        key["KeyType"] = kind
    second["KeySchema"].reverse()
    engine = dynoxide.start(directory, lambda _: None)
    try:
        options, credentials = (
            ConnectionOptions(region="us-east-1", endpoint_url=engine.url),
            Credentials("AKIALOCAL00000000000", "local"),
        )
        TableAdmin.connect(options, "keyfence", load_domains().entities.projections, credentials).client.create_table(
            **definition
        )
    finally:
        engine.stop()


@contextmanager
def running_dev(engine: str, data: Path) -> Iterator[dict[str, list[str]]]:
    """Runs `keyfence dev`. Yields the curl commands that it printed, by tenant. Ctrl-C must end it with exit code 0."""
    command = [sys.executable, "-m", "keyfence", "dev", *PORTS, "--engine", engine, "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield _printed_commands(process)
            process.send_signal(signal.SIGINT)
            assert process.wait(15) == 0
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait(15)
            raise


def _printed_commands(process: "subprocess.Popen[str]") -> dict[str, list[str]]:
    assert process.stdout
    lines: list[str] = []
    # Without the timer, the test would wait forever for a line that never comes.
    watchdog = Timer(START_SECONDS, process.kill)
    watchdog.start()
    while "Press Ctrl-C to stop.\n" not in lines:
        lines.append(process.stdout.readline())
        assert lines[-1], "".join(lines)
    watchdog.cancel()
    tenants = [line.split()[-1].rstrip(":") for line in lines if line.startswith("As ")]
    return dict(zip(tenants, (shlex.split(line) for line in lines if line.startswith("curl ")), strict=True))


def run_command(command: list[str], query: str | None = None) -> dict[str, object]:
    """Runs a printed curl command, or the same command with another query. Returns the answer."""
    actual_command = command if query is None else [*command[:-1], json.dumps({"query": query})]
    answer: dict[str, object] = json.loads(subprocess.check_output(actual_command, text=True, timeout=30))
    return answer


def test_each_demo_tenant_gets_its_own_data(engine: str, tmp_path: Path) -> None:
    with running_dev(engine, tmp_path) as commands:
        assert sorted(commands) == ["acme", "globex"]
        for tenant, command in commands.items():
            answer = run_command(command)
            assert "errors" not in answer
            users = str(run_command(command, USERS))
            assert f"@{tenant}.example" in users
            assert all(f"@{other}.example" not in users for other in commands if other != tenant)


def test_a_restart_keeps_the_data_on_dynoxide(tmp_path: Path) -> None:
    _link_dynoxide(tmp_path)
    create = 'mutation { createUser(input: {email: "kept@x.example", name: "Kept"}) { id } }'
    with running_dev("dynoxide", tmp_path) as commands:
        assert "errors" not in run_command(commands["acme"], create)
    with running_dev("dynoxide", tmp_path) as commands:
        assert "kept@x.example" in str(run_command(commands["acme"], USERS))
        assert "kept@x.example" not in str(run_command(commands["globex"], USERS))


def test_after_a_kill_the_next_start_can_open_the_data(tmp_path: Path) -> None:
    _link_dynoxide(tmp_path)
    command = [sys.executable, "-m", "keyfence", "dev", *PORTS, "--engine", "dynoxide", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        _printed_commands(process)
        process.kill()
    with running_dev("dynoxide", tmp_path) as commands:
        assert "errors" not in run_command(commands["acme"])


def test_data_of_another_version_is_refused_with_the_difference_and_what_to_do(tmp_path: Path) -> None:
    _link_dynoxide(data_directory(tmp_path))
    _table_of_another_version(tmp_path)
    command = [sys.executable, "-m", "keyfence", "dev", *PORTS, "--engine", "dynoxide", "--data", str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.splitlines()[-4:] == [
        "The table keyfence differs from its definition:",
        "  the index GSI1 does not project totals",
        "  the key schema of GSI2 differs",
        f"Another version of Keyfence created the table. Delete {tmp_path} with all its data, or choose another"
        " directory with --data.",
    ]
