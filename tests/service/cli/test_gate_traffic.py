"""keyfence top shows the traffic of a gate with partition limits. Without such a gate it fails with advice."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfence.local.data_directory import gate_key
from keyfence_iam.deployment import Deployment
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import split_shard, tenant_of_key
from tests.service.cli.conftest import Run, error_message
from tests.service.cli.keyfence_process import running

NOW = 1000.0


@pytest.fixture
def limits() -> PartitionLimits:
    limits = PartitionLimits(group_of=tenant_of_key, split_shard=split_shard, now=lambda: NOW)
    hot = PartitionUnits(Partition("keyfence", "GSI2", "TENANT#acme#OPEN#1f"), "write", 9000)
    limits.charge((hot, PartitionUnits(Partition("keyfence", None, "TENANT#globex#\x1b[31m[red]"), "read", 5)))
    limits.record_throttles({0: hot})
    return limits


@pytest.fixture
def gate(tmp_path: Path, limits: PartitionLimits) -> Iterator[Gate]:
    account = Account.from_definitions(ROLES, Deployment())
    key = gate_key(tmp_path)
    with Gate.start(
        engine_url="http://127.0.0.1:1", account=account, key=key, limits=limits, traffic_role="provisioner"
    ) as running_gate:
        yield running_gate


def test_it_shows_tenants_and_partitions(run: Run, gate: Gate, tmp_path: Path) -> None:
    output = run("top", "--once", "--data", tmp_path, "--endpoint-url", gate.url).stdout
    lines = [line.split() for line in output.splitlines()]
    assert ["acme", "0.0", "900.0", "0.0", "9,000.0", "1", "1"] in lines
    assert ["TENANT#acme#OPEN#1f", "GSI2", "1f", "of", "1", "0.0", "900.0", "0.0", "9,000.0", "90%", "1"] in lines


def test_partitions_of_several_tables_have_a_table_column(
    run: Run, gate: Gate, limits: PartitionLimits, tmp_path: Path
) -> None:
    limits.charge((PartitionUnits(Partition("keyfence-silo-acme", "GSI2", "TENANT#acme#OPEN#1f"), "write", 100),))
    output = run("top", "--once", "--data", tmp_path, "--endpoint-url", gate.url).stdout
    lines = [line.split()[:3] for line in output.splitlines()]
    assert ["TABLE", "PARTITION", "INDEX"] in lines
    assert ["keyfence", "TENANT#acme#OPEN#1f", "GSI2"] in lines
    assert ["keyfence-silo-acme", "TENANT#acme#OPEN#1f", "GSI2"] in lines


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["tables", "json"])
def test_it_prints_reports_until_a_signal(gate: Gate, tmp_path: Path, options: list[str]) -> None:
    gate_options = ("--data", str(tmp_path), "--endpoint-url", gate.url)
    with running("top", "--interval", "0.1", *gate_options, *options) as top:
        for _ in range(3):
            top.read_until("TENANT#acme#OPEN#1f")
        assert top.end(signal.SIGINT) == (0, "")


def test_control_characters_in_keys_are_replaced(run: Run, gate: Gate, tmp_path: Path) -> None:
    output = run("top", "--once", "--data", tmp_path, "--endpoint-url", gate.url).stdout
    assert "\x1b" not in output
    assert "TENANT#globex#\ufffd[31m[red]" in output


def test_rows_limits_the_number_of_rows(run: Run, gate: Gate, tmp_path: Path) -> None:
    output = run("top", "--once", "--rows", "1", "--data", tmp_path, "--endpoint-url", gate.url).stdout
    assert "acme" in output
    assert "globex" not in output


def test_json_is_the_gates_report(run: Run, gate: Gate, limits: PartitionLimits, tmp_path: Path) -> None:
    output = run("top", "--once", "--json", "--data", tmp_path, "--endpoint-url", gate.url).stdout
    assert json.loads(output) == limits.traffic_report()


def test_a_gate_without_limits_is_an_error_with_advice(run: Run, gate: Gate, tmp_path: Path) -> None:
    gate.limits = None
    output = error_message(run("top", "--once", "--data", tmp_path, "--endpoint-url", gate.url))
    assert output == f"The gate at {gate.url} does not count traffic: start it with --partition-limits."


def test_an_address_without_a_gate_is_an_error(run: Run, tmp_path: Path) -> None:
    gate_key(tmp_path)
    output = error_message(run("top", "--once", "--data", tmp_path, "--endpoint-url", "http://127.0.0.1:1"))
    assert output.startswith("No gate answers at http://127.0.0.1:1")


def test_a_directory_without_a_key_and_the_key_of_another_gate_are_refused(
    run: Run, gate: Gate, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "There is no gate key" in error_message(
        run("top", "--once", "--data", elsewhere, "--endpoint-url", gate.url)
    )
    gate_key(elsewhere)
    output = error_message(run("top", "--once", "--data", elsewhere, "--endpoint-url", gate.url))
    assert output.startswith(f"The gate at {gate.url} does not show its traffic: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--burst-seconds", "2"], "--burst-seconds needs --partition-limits."),
        (["--partition-limits", "--burst-seconds", "0"], "--burst-seconds must be more than 0 and at most 300."),
    ],
    ids=["alone", "nothing"],
)
@pytest.mark.parametrize(
    "command",
    [["gate", "--engine-url", "http://127.0.0.1:1"], ["dev", "--no-partition-limits"]],
    ids=["gate", "dev"],
)
def test_a_burst_without_limits_is_an_error(run: Run, command: list[str], arguments: list[str], message: str) -> None:
    assert error_message(run(*command, *arguments)) == message
