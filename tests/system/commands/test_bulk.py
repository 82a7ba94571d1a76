"""keyfence export and import, through a local gate and as the service's role on AWS."""

import asyncio
import json
import signal
import time
from pathlib import Path

import pytest

from keyfence.local.data_directory import gate_key
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles.names import SERVICE_BASE
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.data.full_tenant import SMALL, FullTenant, content, export_all, stored_items
from tests.stack import ServiceStack
from tests.system.commands.command_runner import TIMEOUT_SECONDS, invoke, start, use_role_on_aws

pytestmark = pytest.mark.usefixtures("terminal")

LINE_COUNT = 120
CUSTOMERS = [{**SMALL["customer"], "id": f"{SMALL['customer']['id'][:-3]}{number:03}"} for number in range(LINE_COUNT)]


def run(*arguments: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    result = invoke(*arguments, stdin=stdin)
    return result.exit_code, result.stdout_bytes, result.stderr


def run_and_interrupt(ending: signal.Signals, *arguments: str) -> tuple[int, str]:
    """Runs a command in a process of its own and sends the signal a second after it has begun."""
    with start(*arguments) as process:
        assert process.stderr
        assert process.stderr.readline().endswith(b" ...\n")
        time.sleep(1)
        process.send_signal(ending)
        _, error = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, error.decode()


def test_an_export_can_be_imported_once(stack: ServiceStack, tenant: TenantId) -> None:
    other = asyncio.run(stack.new_tenant())
    asyncio.run(FullTenant.on(stack.table(tenant)).fill())
    code, out, error = run("export", "--tenant", tenant)
    assert (code, out) == (0, asyncio.run(export_all(stack.table(tenant))))
    assert error.splitlines()[-1] == "Exported 3 categories, 2 customers, 2 products, 9 orders."
    assert run("export", "--tenant", tenant, "--out", "lines")[:2] == (0, b"")
    assert Path("lines").read_bytes() == out
    summary = json.loads(run("export", "--tenant", tenant, "--out", "lines", "--json")[2].splitlines()[-1])
    assert summary == {"tenant": tenant, "exported": {"customer": 2, "category": 3, "product": 2, "order": 9}}
    code, printed, error = run("import", "lines", "--tenant", other)
    assert (code, error) == (0, f"importing 16 lines into {other} ...\n")
    assert printed.startswith(f"Imported 3 categories, 2 customers, 2 products, 9 orders into {other} in ".encode())
    imported, exported = stored_items(stack, other, tenant)
    assert imported == exported
    code, printed, _ = run("import", "-", "--tenant", other, "--json", stdin=out)
    summary = json.loads(printed)
    assert (code, summary["tenant"], summary["written"]) == (0, other, {})
    assert summary["existing"] == {"customer": 2, "category": 3, "product": 2, "order": 9}


def test_one_bad_line_prevents_the_whole_import(tenant: TenantId) -> None:
    lines = content(*SMALL.values(), {**SMALL["customer"], "name": " "}, {"type": "order"})
    code, out, error = run("import", "-", "--tenant", tenant, stdin=lines)
    assert (code, out) == (1, b"")
    first, second, last = error.splitlines()
    assert first.startswith("line 5, name: ")
    assert second.startswith("line 6, id: ")
    assert last == "Nothing was written."
    code, out, _ = run("import", "-", "--tenant", tenant, "--json", stdin=lines)
    assert (code, [(problem["line"], problem["field"]) for problem in json.loads(out)["errors"]]) == (
        1,
        [(5, "name"), (6, "id")],
    )
    assert run("export", "--tenant", tenant)[1] == b""


def test_a_line_that_differs_stops_the_import_with_a_count(tenant: TenantId) -> None:
    assert run("import", "-", "--tenant", tenant, stdin=content(SMALL["customer"]))[0] == 0
    lines = content(CUSTOMERS[0], {**SMALL["customer"], "name": "Bea"})
    code, _, error = run("import", "-", "--tenant", tenant, stdin=lines)
    assert code == 1
    assert "line 2, name: the tenant has this customer already, with 'Ann' instead of 'Bea'" in error
    assert error.splitlines()[-1] == "Imported 1 customer before that."


@pytest.mark.parametrize(
    "ending",
    tier.cases([signal.SIGINT, signal.SIGKILL], default=[signal.SIGINT], reason="kills processes"),
    ids=lambda number: number.name,
)
def test_the_same_command_continues_an_interrupted_import(tenant: TenantId, ending: signal.Signals) -> None:
    Path("lines").write_bytes(content(*CUSTOMERS))
    code, error = run_and_interrupt(ending, "import", "lines", "--tenant", tenant, "--rate", "40")
    if ending is not signal.SIGKILL:
        assert code == 130
        assert f"of {LINE_COUNT} lines are done. Run the same command to continue." in error
    code, out, _ = run("import", "lines", "--tenant", tenant, "--rate", "100000", "--json")
    summary = json.loads(out)
    assert code == 0
    assert 0 < summary["existing"]["customer"] < LINE_COUNT
    assert summary["existing"]["customer"] + summary["written"]["customer"] == LINE_COUNT
    assert len(run("export", "--tenant", tenant)[1].splitlines()) == LINE_COUNT


def test_an_import_does_not_exceed_its_rate(tenant: TenantId) -> None:
    """Six lines and their entries in the activity log are twelve items. The last two wait for the ten before."""
    code, out, _ = run("import", "-", "--tenant", tenant, "--rate", "4", "--json", stdin=content(*CUSTOMERS[:6]))
    assert code == 0
    assert json.loads(out)["seconds"] > 2.4


def test_on_aws_the_services_role_assumes_the_tenants_role(
    tenant: TenantId, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_role_on_aws(gate, SERVICE_BASE, monkeypatch)
    code, _, error = run("import", "-", "--tenant", tenant, "--data", "nowhere", stdin=content())
    assert (code, error.splitlines()[1:]) == (0, [])
    assert len(run("export", "--tenant", tenant, "--data", "nowhere")[1].splitlines()) == len(SMALL)


def test_an_unknown_tenant_or_an_unreachable_gate_is_an_error_with_advice(tenant: TenantId, gate: Gate) -> None:
    Path("other").mkdir()
    gate_key(Path("other"))
    nowhere = ("--endpoint-url", "http://127.0.0.1:1")
    for arguments, sentence in (
        (["--tenant", "nobody-here"], "Tenant nobody-here does not exist. "),
        (["--tenant", tenant, "--data", "other"], f"The gate at {gate.url} belongs to another data directory."),
        (["--tenant", tenant, *nowhere], "No gate answers at http://127.0.0.1:1. "),
    ):
        for command in (["import", "-"], ["export"]):
            code, _, error = run(*command, *arguments, stdin=content())
            assert code == 1
            assert error.splitlines()[-1].startswith(sentence)


def test_log_lines_are_not_mixed_into_the_exported_lines(
    tenant: TenantId, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_role_on_aws(gate, SERVICE_BASE, monkeypatch)
    monkeypatch.setenv("KEYFENCE_STS_ENDPOINT_URL", "http://127.0.0.1:1")
    with start("export", "--tenant", tenant) as process:
        out, error = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (1, b"")
    assert b"session_unavailable" in error
