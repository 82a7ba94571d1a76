"""keyfence dev saves suspensions if and only if the engine saves the tenants."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from keyfence.cli.dev_server import _start_gate
from keyfence.cli.process import listen
from keyfence.local import gate_access
from keyfence.local.role_policies import FILE
from keyfence_iam.gate.gate import Gate
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True)
class Stopped:
    """An engine that does not run."""

    persistent: bool
    name: str = "stopped"
    url: str = "http://127.0.0.1:1"

    def failure(self) -> str | None:
        return None

    def stop(self) -> None:
        pass


def started(engine: Stopped, directory: Path) -> Gate:
    with listen("127.0.0.1", 0) as listener:
        return _start_gate(engine, "keyfence", b"k" * 32, listener.dup(), directory)


def suspender(gate: Gate) -> TenantSuspension:
    credentials = gate_access.role_session(gate.sessions, "suspender").credentials
    return TenantSuspension.connect(credentials, "keyfence-", endpoint_url=gate.url)


@pytest.mark.parametrize("persistent", [True, False], ids=["on disk", "in memory"])
def test_a_suspension_survives_a_restart_if_the_data_does(tmp_path: Path, persistent: bool) -> None:
    with started(Stopped(persistent), tmp_path) as gate:
        suspender(gate).deny([TenantId("acme")])
    assert (tmp_path / FILE).exists() == persistent
    with started(Stopped(persistent), tmp_path) as gate:
        assert suspender(gate).denied_tenants() == ({"acme"} if persistent else frozenset())


def test_an_engine_in_memory_neither_reads_nor_changes_saved_policies(tmp_path: Path) -> None:
    with started(Stopped(persistent=True), tmp_path) as gate:
        suspender(gate).deny([TenantId("acme")])
    kept = (tmp_path / FILE).read_text()
    with started(Stopped(persistent=False), tmp_path) as gate:
        assert suspender(gate).denied_tenants() == frozenset()
        suspender(gate).deny([TenantId("globex")])
    assert (tmp_path / FILE).read_text() == kept
