"""keyfence export and import, as they are typed: through the gate of this machine, or as the service's role on AWS."""

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
from tests.commands.command_runner import SECONDS, become, invoke, start
from tests.data.full_tenant import SMALL, FullTenant, content, export_all, stored_items
from tests.stack import World

pytestmark = pytest.mark.usefixtures("terminal")

LINES = 120
MANY = [{**SMALL["customer"], "id": f"{SMALL['customer']['id'][:-3]}{at:03}"} for at in range(LINES)]


def run(*arguments: str, given: bytes = b"") -> tuple[int, bytes, str]:
    result = invoke(*arguments, given=given)
    return result.exit_code, result.stdout_bytes, result.stderr


def interrupted(ending: signal.Signals, *arguments: str) -> tuple[int, str]:
    """A process of its own, ended a second after it has said what begins."""
    with start(*arguments) as process:
        assert process.stderr
        assert process.stderr.readline().endswith(b" ...\n")
        time.sleep(1)
        process.send_signal(ending)
        _, said = process.communicate(timeout=SECONDS)
    return process.returncode, said.decode()


def test_what_export_writes_import_brings_in_once(world: World, tenant: TenantId) -> None:
    other = asyncio.run(world.new_tenant())
    asyncio.run(FullTenant.on(world.table(tenant)).fill())
    code, out, said = run("export", "--tenant", tenant)
    assert (code, out) == (0, asyncio.run(export_all(world.table(tenant))))
    assert said.splitlines()[-1] == "Exported 2 customers, 3 categories, 2 products, 9 orders."
    assert run("export", "--tenant", tenant, "--out", "lines")[:2] == (0, b"")
    assert Path("lines").read_bytes() == out
    code, said_out, said = run("import", "lines", "--tenant", other)
    assert (code, said) == (0, f"importing 16 lines into {other} ...\n")
    assert said_out.startswith(f"Imported 2 customers, 3 categories, 2 products, 9 orders into {other} in ".encode())
    one, same = stored_items(world, other, tenant)
    assert one == same
    code, said_out, _ = run("import", "-", "--tenant", other, "--json", given=out)
    told = json.loads(said_out)
    assert (code, told["tenant"], told["written"]) == (0, other, {})
    assert told["found"] == {"customer": 2, "category": 3, "product": 2, "order": 9}


def test_a_bad_line_anywhere_keeps_all_lines_out(tenant: TenantId) -> None:
    given = content(*SMALL.values(), {**SMALL["customer"], "name": " "}, {"type": "order"})
    code, out, said = run("import", "-", "--tenant", tenant, given=given)
    assert (code, out) == (1, b"")
    first, second, last = said.splitlines()
    assert first.startswith("line 5, name: ")
    assert second.startswith("line 6, id: ")
    assert last == "Nothing was written."
    code, out, _ = run("import", "-", "--tenant", tenant, "--json", given=given)
    assert (code, [(one["line"], one["field"]) for one in json.loads(out)["errors"]]) == (1, [(5, "name"), (6, "id")])
    assert run("export", "--tenant", tenant)[1] == b""


def test_a_line_that_differs_ends_it_and_says_what_was_done(tenant: TenantId) -> None:
    assert run("import", "-", "--tenant", tenant, given=content(SMALL["customer"]))[0] == 0
    given = content(MANY[0], {**SMALL["customer"], "name": "Bea"})
    code, _, said = run("import", "-", "--tenant", tenant, given=given)
    assert code == 1
    assert "line 2, name: the tenant has this customer already, with 'Ann' instead of 'Bea'" in said
    assert said.splitlines()[-1] == "Imported 1 customer before that."


@pytest.mark.parametrize(
    "ending",
    tier.cases([signal.SIGINT, signal.SIGKILL], default=[signal.SIGINT], reason="kills processes"),
    ids=lambda number: number.name,
)
def test_an_import_that_is_ended_is_taken_up_by_the_same_command(tenant: TenantId, ending: signal.Signals) -> None:
    Path("lines").write_bytes(content(*MANY))
    code, said = interrupted(ending, "import", "lines", "--tenant", tenant, "--rate", "40")
    if ending is not signal.SIGKILL:
        assert code == 130
        assert f"of {LINES} lines are done. Run the same command to continue." in said
    code, out, _ = run("import", "lines", "--tenant", tenant, "--rate", "100000", "--json")
    told = json.loads(out)
    assert code == 0
    assert 0 < told["found"]["customer"] < LINES
    assert told["found"]["customer"] + told["written"]["customer"] == LINES
    assert len(run("export", "--tenant", tenant)[1].splitlines()) == LINES


def test_a_rate_is_kept(tenant: TenantId) -> None:
    """Six lines with their entries in the journal are twelve items, the last two of which wait for ten others."""
    code, out, _ = run("import", "-", "--tenant", tenant, "--rate", "4", "--json", given=content(*MANY[:6]))
    assert code == 0
    assert json.loads(out)["seconds"] > 2.4


def test_on_aws_it_is_the_services_role_that_becomes_the_tenant(
    tenant: TenantId, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    become(gate, SERVICE_BASE, monkeypatch)
    code, _, said = run("import", "-", "--tenant", tenant, "--data", "nowhere", given=content())
    assert (code, said.splitlines()[1:]) == (0, [])
    assert len(run("export", "--tenant", tenant, "--data", "nowhere")[1].splitlines()) == len(SMALL)


def test_what_cannot_be_reached_is_an_error_with_what_to_do(tenant: TenantId, gate: Gate) -> None:
    Path("other").mkdir()
    gate_key(Path("other"))
    nowhere = ("--endpoint-url", "http://127.0.0.1:1")
    for arguments, sentence in (
        (["--tenant", "nobody-here"], "Tenant nobody-here does not exist: "),
        (["--tenant", tenant, "--data", "other"], f"The gate at {gate.url} belongs to another data directory."),
        (["--tenant", tenant, *nowhere], "No gate answers at http://127.0.0.1:1. "),
    ):
        for command in (["import", "-"], ["export"]):
            code, _, said = run(*command, *arguments, given=content())
            assert code == 1
            assert said.splitlines()[-1].startswith(sentence)


def test_log_lines_do_not_get_among_the_exported_lines(
    tenant: TenantId, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    become(gate, SERVICE_BASE, monkeypatch)
    monkeypatch.setenv("KEYFENCE_STS_ENDPOINT_URL", "http://127.0.0.1:1")
    with start("export", "--tenant", tenant) as process:
        out, error = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (1, b"")
    assert b"session_unavailable" in error
