"""keyfence migrate keys, resume and show, as they are typed, and killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from iam.boundary import TenantId
from iam.deployment import Deployment
from iam.gate.account import Account
from iam.gate.server import Gate
from service.cli import app
from service.local.gate_key import gate_key
from tests.engine.leaving import left
from tests.engine.migrating import fill_unkeyed, users_of
from tests.world import World

SECONDS, MANY = 120, 80
NOBODYS = "mig_01M7HHHGKHN6S6V7032B0W8CKZ"


@pytest.fixture
def gate(world: World, tmp_path: Path) -> Iterator[Gate]:
    """Before the world's table, with a key that lies in a directory."""
    account = Account.of(Deployment(table=world.settings.table))
    (tmp_path / ".keyfence").mkdir()
    with Gate.start(engine_url=world.engine_url, account=account, key=gate_key(tmp_path / ".keyfence")) as running:
        yield running


@pytest.fixture(autouse=True)
def _terminal(world: World, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the directory above that of the gate, and told where it is."""
    for name in [name for name in os.environ if name.startswith(("KEYFENCE_", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KEYFENCE_TABLE", world.settings.table)
    monkeypatch.setenv("KEYFENCE_ENDPOINT_URL", gate.url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("service.log.configure", lambda **_: None)


@pytest.fixture
def tenant(world: World) -> TenantId:
    return asyncio.run(world.new_tenant())


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["migrate", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def record(world: World, tenant: TenantId) -> dict[str, Any]:
    """The newest migration of the tenant."""
    mine = [item for item in left(world) if item.get("type") == {"S": "Migration"} and item["tenant"]["S"] == tenant]
    newest: dict[str, Any] = max(mine, key=lambda item: str(item["id"]["S"]), default={})
    return {name: int(value["N"]) if "N" in value else value.get("S") for name, value in newest.items()}


def ended(world: World, tenant: TenantId, ending: signal.Signals) -> tuple[int, str]:
    """A process of its own, ended as soon as it has changed something and not all."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "service", "migrate", "keys", "--tenant", tenant, "--rate", "24"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + SECONDS
        while not 0 < record(world, tenant).get("itemsCopied", 0) < MANY:
            assert process.poll() is None
            assert time.monotonic() < deadline
        process.send_signal(ending)
        _, said = process.communicate(timeout=SECONDS)
    return process.returncode, said.decode()


def test_keys_are_counted_changed_and_shown(world: World, tenant: TenantId) -> None:
    right = fill_unkeyed(world, tenant, 6)
    code, out, _ = run("keys", "--tenant", tenant, "--dry-run", "--json")
    told = json.loads(out)
    assert (code, told["counts"], told["itemsCopied"], told["detail"]) == (
        0,
        {"wrong": 6},
        0,
        {"type": None, "dryRun": True},
    )
    code, out, said = run("keys", "--tenant", tenant, "--type", "User", "--as", "ann", "--segments", "2", "--json")
    told = json.loads(out)
    assert (code, told["phase"], told["itemsCopied"], told["by"]) == (0, "FINISHED", 6, "cli:ann")
    assert [line.partition(": ")[2] for line in said.splitlines()] == [
        "begun ...",
        "deriving-1 ...",
        "verifying-1 ...",
        "finished ...",
    ]
    assert users_of(world, tenant) == right
    code, out, _ = run("show", told["id"])
    assert (code, out.splitlines()[0]) == (0, f"{told['id']}  KEYS of {tenant}: FINISHED")
    assert json.loads(run("show", told["id"], "--json")[1]) == told
    assert json.loads(run("resume", told["id"], "--json")[1]) == told, "there is nothing left to do"


@pytest.mark.parametrize("world", ["dynoxide"], indirect=True)
def test_a_process_that_is_killed_is_followed_by_one_that_finishes(world: World, tenant: TenantId) -> None:
    right = fill_unkeyed(world, tenant, MANY)
    code, _ = ended(world, tenant, signal.SIGKILL)
    assert code == -signal.SIGKILL
    torn = record(world, tenant)
    assert torn["worker"], "its lease is not over, and nobody waits for the dead"
    code, out, _ = run("resume", torn["id"], "--json")
    assert (code, json.loads(out)["phase"]) == (0, "FINISHED")
    assert users_of(world, tenant) == right


@pytest.mark.parametrize("world", ["dynoxide"], indirect=True)
def test_an_interrupted_one_says_how_to_go_on(world: World, tenant: TenantId) -> None:
    right = fill_unkeyed(world, tenant, MANY)
    code, said = ended(world, tenant, signal.SIGINT)
    torn = record(world, tenant)
    assert code == 130
    last = f"Interrupted. {torn['itemsCopied']} items are changed; keyfence migrate resume {torn['id']}"
    assert said.splitlines()[-1] == last
    assert torn.get("worker") is None
    assert len([item for item in users_of(world, tenant) if "GSI1PK" in item]) == torn["itemsCopied"]
    code, out, _ = run("resume", torn["id"], "--json")
    assert (code, json.loads(out)["itemsCopied"], users_of(world, tenant)) == (0, MANY, right)


@pytest.mark.parametrize("world", ["dynoxide"], indirect=True)
def test_what_is_not_there_is_said(world: World) -> None:
    assert "no such migration" in run("show", NOBODYS)[2]
    assert "no such migration" in run("resume", NOBODYS)[2]
    assert "id must be an id of the form mig_" in run("resume", "off_acme")[2]
    assert "there is no type Unheard" in run("keys", "--type", "Unheard")[2]
