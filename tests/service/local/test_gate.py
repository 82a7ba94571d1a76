"""A gate is recorded in its data directory, and suspensions are saved if and only if the engine saves the tenants."""

from pathlib import Path

import pytest

from keyfence.cli.ports import listen
from keyfence.local import gate_access
from keyfence.local.data_directory import GateRecord, find_gate_record
from keyfence.local.gate import start_gate
from keyfence.local.saved_role_policies import POLICIES_FILE
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.gate import Gate
from keyfence_iam.suspension import TenantSuspension
from keyfence_iam.tenant import TenantId


def start_local_gate(directory: Path, *, saves_policies: bool) -> Gate:
    with listen("127.0.0.1", 0) as listener:
        return start_gate(
            directory,
            Deployment(account="123456789012"),
            engine_url="http://127.0.0.1:1",
            listener=listener.dup(),
            server_url="http://127.0.0.1:2",
            saves_policies=saves_policies,
        )


def suspender(gate: Gate) -> TenantSuspension:
    credentials = gate_access.role_session(gate.session_issuer, "suspender").credentials
    return TenantSuspension.connect(credentials, "keyfence-", endpoint_url=gate.url)


def test_a_started_gate_is_recorded_with_its_account_and_server(tmp_path: Path) -> None:
    with start_local_gate(tmp_path, saves_policies=True) as gate:
        assert find_gate_record(tmp_path) == GateRecord(
            url=gate.url, account="123456789012", region="us-east-1", server_url="http://127.0.0.1:2"
        )


@pytest.mark.parametrize("persistent", [True, False], ids=["on disk", "in memory"])
def test_a_suspension_survives_a_restart_if_the_data_does(tmp_path: Path, persistent: bool) -> None:
    with start_local_gate(tmp_path, saves_policies=persistent) as gate:
        suspender(gate).deny([TenantId("acme")])
    assert (tmp_path / POLICIES_FILE).exists() == persistent
    with start_local_gate(tmp_path, saves_policies=persistent) as gate:
        assert suspender(gate).denied_tenants() == ({"acme"} if persistent else frozenset())


def test_an_engine_in_memory_neither_reads_nor_changes_saved_policies(tmp_path: Path) -> None:
    with start_local_gate(tmp_path, saves_policies=True) as gate:
        suspender(gate).deny([TenantId("acme")])
    saved = (tmp_path / POLICIES_FILE).read_text()
    with start_local_gate(tmp_path, saves_policies=False) as gate:
        assert suspender(gate).denied_tenants() == frozenset()
        suspender(gate).deny([TenantId("globex")])
    assert (tmp_path / POLICIES_FILE).read_text() == saved
