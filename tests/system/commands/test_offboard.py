"""keyfence tenant offboard, verify and measure, as they are typed, and killed."""

import asyncio
import base64
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyfence.jobs.offboard.certificate import parse_signer
from keyfence_iam.dynamodb.item_size import stored_size
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles.names import MIGRATOR, SERVICE_BASE
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.stack import ServiceStack
from tests.system.commands import command_runner as typed
from tests.system.jobs.offboarding_run import all_items, fill, items_of
from tests.system.jobs.rekey_run import record

pytestmark = pytest.mark.usefixtures("terminal", "short_settle")

MANY = 80
NO_KEY = "There is no key: name the public key with --key, or the data directory of `keyfence dev` with --data.\n"


def run(*arguments: str) -> tuple[int, str, str]:
    return typed.run("tenant", *arguments)


def job(stack: ServiceStack, tenant: TenantId) -> dict[str, Any]:
    """The stored job of the tenant's offboarding, with its numbers."""
    found = record(stack, tenant)
    return {**found, **json.loads(found["state"])} if found else {}


def stopped(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals, due: Callable[[dict[str, Any]], bool]
) -> tuple[int, str]:
    """A process of its own, ended as soon as its job is at that place."""
    command = ("tenant", "offboard", tenant, "--confirm", tenant, "--rate", "40")
    return typed.run_and_end(ending, lambda: due(job(stack, tenant)), *command)


PLACES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "exporting": lambda job: job.get("phase") == "EXPORTING" and 0 < job["exported"] < MANY,
    "purging": lambda job: job.get("phase") == "PURGING" and 0 < job["purged"] < MANY,
    "verifying": lambda job: job.get("phase") == "VERIFYING_INDEXES",
}


@pytest.mark.parametrize("place", tier.cases(PLACES, default=["purging"], reason="kills processes"))
@pytest.mark.one_engine
def test_a_process_that_is_killed_is_followed_by_one_that_finishes(
    stack: ServiceStack, tenant: TenantId, place: str
) -> None:
    fill(stack, tenant, MANY)
    neighbour = asyncio.run(stack.new_tenant(f"{tenant}x"))
    fill(stack, neighbour, 20)
    before = items_of(all_items(stack), neighbour)
    code, _ = stopped(stack, tenant, signal.SIGKILL, PLACES[place])
    assert code == -signal.SIGKILL
    torn = job(stack, tenant)
    assert torn["worker"], "its lease is not over, and nobody waits for the dead"
    code, out, _ = run("offboard", tenant, "--confirm", tenant, "--json")
    told = json.loads(out)
    assert (code, told["itemsExported"], told["itemsPurged"], told["phase"]) == (0, MANY, MANY, "FINISHED")
    assert items_of(all_items(stack), tenant) == []
    assert items_of(all_items(stack), neighbour) == before
    assert run("verify", beside(told))[0] == 0


@pytest.mark.full("ends processes")
@pytest.mark.one_engine
def test_an_interrupted_one_says_how_to_go_on(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, MANY)
    code, said = stopped(stack, tenant, signal.SIGINT, PLACES["purging"])
    assert code == 130
    assert said.splitlines()[-1].startswith(f"Interrupted. {MANY} items exported, ")
    assert said.splitlines()[-1].endswith(f" purged. To resume: keyfence job resume {job(stack, tenant)['id']}")
    assert job(stack, tenant).get("worker") is None
    code, out, _ = run("offboard", tenant, "--confirm", tenant)
    assert code == 0
    assert out.splitlines()[0].startswith(f"{tenant} is offboarded: {MANY} items exported and purged in ")


def beside(told: dict[str, Any]) -> str:
    return str(told["exportUri"]).removeprefix("file://").replace(".jsonl.gz", ".certificate.json")


def test_a_tenant_is_offboarded_by_the_command_and_its_certificate_verified(
    stack: ServiceStack, tenant: TenantId
) -> None:
    fill(stack, tenant, 30)
    code, out, said = run("offboard", tenant, "--confirm", tenant, "--as", "ann", "--json")
    told = json.loads(out)
    assert code == 0
    assert said.splitlines()[0].startswith(f"{told['job']}: suspending")
    assert any(": purging" in line for line in said.splitlines())
    assert told["certificate"]["claims"]["operator"] == "cli:ann"
    assert items_of(all_items(stack), tenant) == []
    assert Path(beside(told)).parent == Path(".keyfence/exports").resolve()
    code, out, _ = run("verify", beside(told))
    assert (code, out.splitlines()[-1].startswith("Every line of ")) == (0, True)
    code, out, _ = run("verify", beside(told), "--key", told["key"], "--data", "nowhere", "--json")
    assert (code, json.loads(out)["exported"], json.loads(out)["exportChecked"]) == (0, 30, True)
    again = json.loads(run("offboard", tenant, "--confirm", tenant, "--json")[1])
    assert again["certificate"] == told["certificate"]


@pytest.mark.one_engine
def test_a_tampered_export_or_another_key_is_exit_code_1(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 10)
    told = json.loads(run("offboard", tenant, "--confirm", tenant, "--json")[1])
    export, other = Path(beside(told).replace(".certificate.json", ".jsonl.gz")), parse_signer("o" * 43).verifier.text
    code, _, said = run("verify", beside(told), "--key", other)
    assert (code, "was not signed with the key" in said) == (1, True)
    code, _, said = run("verify", beside(told), "--data", "nowhere")
    assert (code, said) == (1, NO_KEY)
    export.write_bytes(export.read_bytes()[:-20])
    code, _, said = run("verify", beside(told))
    assert (code, "cannot be read from line" in said) == (1, True)
    export.unlink()
    code, out, said = run("verify", beside(told))
    assert (code, out, said.startswith(f"{export} does not exist. Name the export with --export, or ")) == (1, "", True)
    code, out, _ = run("verify", beside(told), "--without-export")
    assert (code, out.splitlines()[-1]) == (0, "The export was not checked.")
    assert run("verify", beside(told), "--export", str(export))[0] == 1
    assert run("verify", beside(told), "--export", str(export), "--without-export")[0] == 1
    assert run("verify", "nowhere")[2] == "nowhere cannot be read: No such file or directory.\n"


def test_without_its_confirmation_nothing_happens(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 3)
    for arguments in ((tenant,), (tenant, "--confirm", "acme")):
        code, out, said = run("offboard", *arguments)
        assert (code, out) == (1, "")
        assert said.splitlines()[-1] == "confirm must be the id of the tenant to offboard"
    assert run("offboard", "nobody-here", "--confirm", "nobody-here")[0] == 1
    assert len(items_of(all_items(stack), tenant)) == 3
    assert job(stack, tenant) == {}


@pytest.mark.full("waits until a lease of 60 s is over")
def test_on_aws_it_is_the_migrator_who_does_it_and_the_service_cannot(
    stack: ServiceStack, tenant: TenantId, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stack, tenant, 5)
    typed.become(gate, MIGRATOR, monkeypatch)
    monkeypatch.setenv("KEYFENCE_READ_TIMEOUT_SECONDS", "1")
    command = ("offboard", tenant, "--confirm", tenant, "--data", "nowhere")
    assert "--exports DIR" in run(*command)[2]
    monkeypatch.setenv("KEYFENCE_EXPORTS", str(tmp_path / "kept"))
    assert run(*command)[2].startswith("KEYFENCE_SIGNING_KEY is missing")
    monkeypatch.setenv("KEYFENCE_SIGNING_KEY", "dev-" + "s" * 43)
    assert "use another key on AWS" in run(*command)[2]
    monkeypatch.setenv("KEYFENCE_SIGNING_KEY", "s" * 43)
    assert len(items_of(all_items(stack), tenant)) == 5
    typed.become(gate, SERVICE_BASE, monkeypatch)
    code, _, said = run(*command)
    assert code == 1
    assert "To resume: keyfence job resume" in said
    assert len(items_of(all_items(stack), tenant)) == 5, "the service may neither scan nor purge"
    typed.become(gate, MIGRATOR, monkeypatch)
    code, _, _ = run(*command)
    assert (code, items_of(all_items(stack), tenant)) == (0, [])
    (certificate,) = (tmp_path / "kept").glob("*.certificate.json")
    assert run("verify", str(certificate), "--data", "nowhere")[0] == 0


def test_every_tenant_is_measured_and_the_result_is_stored(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 12)
    expected = sum(stored_size(_wire(item)) for item in items_of(all_items(stack), tenant))
    empty = asyncio.run(stack.new_tenant())
    code, out, _ = run("measure", "--json", "--rate", "100000")
    assert (code, json.loads(out)[tenant], json.loads(out)[empty]) == (
        0,
        {"items": 12, "bytes": expected},
        {"items": 0, "bytes": 0},
    )
    told = asyncio.run(
        stack.operator_client().data("query($id: ID!) { tenant(id: $id) { storedBytes version } }", id=tenant)
    )
    assert told["tenant"] == {"storedBytes": float(expected), "version": 1}
    code, out, _ = run("measure")
    assert [tenant, "12", f"{expected:,}"] in [line.split() for line in out.splitlines()]


def _wire(item: Any) -> Any:
    return json.loads(json.dumps(item, default=lambda value: base64.b64encode(value).decode()))
