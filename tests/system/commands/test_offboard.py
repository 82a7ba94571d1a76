"""keyfence tenant offboard, verify and measure: complete runs, interrupted runs and killed runs."""

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
from tests.system.commands import command_runner
from tests.system.jobs.offboarding_run import all_items, fill, items_of
from tests.system.jobs.rekey_run import record

pytestmark = pytest.mark.usefixtures("terminal", "short_settle")

ITEM_COUNT = 80
NO_KEY = "There is no key: name the public key with --key, or the data directory of `keyfence dev` with --data.\n"


def run(*arguments: str) -> tuple[int, str, str]:
    return command_runner.run("tenant", *arguments)


def stored_job(stack: ServiceStack, tenant: TenantId) -> dict[str, Any]:
    """Returns the stored job of the tenant's offboarding, with the fields of its state, or {} if there is none."""
    job_record = record(stack, tenant)
    return {**job_record, **json.loads(job_record["state"])} if job_record else {}


def end_offboarding(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals, has_reached: Callable[[dict[str, Any]], bool]
) -> tuple[int, str]:
    """Runs an offboarding in a process of its own, and ends the process when `has_reached` is true for the job."""
    command = ("tenant", "offboard", tenant, "--confirm", tenant, "--rate", "40")
    return command_runner.run_and_end(ending, lambda: has_reached(stored_job(stack, tenant)), *command)


REACHED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "exporting": lambda job: job.get("phase") == "EXPORTING" and 0 < job["exported_count"] < ITEM_COUNT,
    "purging": lambda job: job.get("phase") == "PURGING" and 0 < job["purged_count"] < ITEM_COUNT,
    "verifying": lambda job: job.get("phase") == "VERIFYING_INDEXES",
}


@pytest.mark.parametrize("phase", tier.cases(REACHED, default=["purging"], reason="kills processes"))
@pytest.mark.one_engine
def test_the_same_command_finishes_an_offboarding_whose_process_was_killed(
    stack: ServiceStack, tenant: TenantId, phase: str
) -> None:
    fill(stack, tenant, ITEM_COUNT)
    neighbour = asyncio.run(stack.new_tenant(f"{tenant}x"))
    fill(stack, neighbour, 20)
    before = items_of(all_items(stack), neighbour)
    code, _ = end_offboarding(stack, tenant, signal.SIGKILL, REACHED[phase])
    assert code == -signal.SIGKILL
    interrupted = stored_job(stack, tenant)
    assert interrupted["worker"], (
        "the lease of the killed worker is not over, and the next command does not wait for its end"
    )
    code, out, _ = run("offboard", tenant, "--confirm", tenant, "--json")
    result = json.loads(out)
    assert (code, result["itemsExported"], result["itemsPurged"], result["phase"]) == (
        0,
        ITEM_COUNT,
        ITEM_COUNT,
        "FINISHED",
    )
    assert items_of(all_items(stack), tenant) == []
    assert items_of(all_items(stack), neighbour) == before
    assert run("verify", certificate_path(result))[0] == 0


@pytest.mark.full("ends processes")
@pytest.mark.one_engine
def test_an_interrupted_offboarding_prints_how_to_resume_it(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, ITEM_COUNT)
    code, error = end_offboarding(stack, tenant, signal.SIGINT, REACHED["purging"])
    assert code == 130
    assert error.splitlines()[-1].startswith(f"Interrupted. {ITEM_COUNT} items exported, ")
    assert error.splitlines()[-1].endswith(f" purged. To resume: keyfence job resume {stored_job(stack, tenant)['id']}")
    assert stored_job(stack, tenant).get("worker") is None
    code, out, _ = run("offboard", tenant, "--confirm", tenant)
    assert code == 0
    assert out.splitlines()[0].startswith(f"{tenant} is offboarded: {ITEM_COUNT} items exported and purged in ")


def certificate_path(result: dict[str, Any]) -> str:
    return str(result["exportUri"]).removeprefix("file://").replace(".jsonl.gz", ".certificate.json")


def test_an_offboarded_tenant_has_a_certificate_that_can_be_verified(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 30)
    code, out, error = run("offboard", tenant, "--confirm", tenant, "--as", "ann", "--json")
    result = json.loads(out)
    assert code == 0
    assert error.splitlines()[0].startswith(f"{result['job']}: suspending")
    assert any(": purging" in line for line in error.splitlines())
    assert result["certificate"]["claims"]["operator"] == "cli:ann"
    assert items_of(all_items(stack), tenant) == []
    assert Path(certificate_path(result)).parent == Path(".keyfence/exports").resolve()
    code, out, _ = run("verify", certificate_path(result))
    assert (code, out.splitlines()[-1].startswith("Every line of ")) == (0, True)
    code, out, _ = run("verify", certificate_path(result), "--key", result["key"], "--data", "nowhere", "--json")
    assert (code, json.loads(out)["exported"], json.loads(out)["exportChecked"]) == (0, 30, True)
    again = json.loads(run("offboard", tenant, "--confirm", tenant, "--json")[1])
    assert again["certificate"] == result["certificate"]


@pytest.mark.one_engine
def test_verify_fails_for_a_damaged_or_missing_export_and_for_another_key(
    stack: ServiceStack, tenant: TenantId
) -> None:
    fill(stack, tenant, 10)
    result = json.loads(run("offboard", tenant, "--confirm", tenant, "--json")[1])
    export, other_key = (
        Path(certificate_path(result).replace(".certificate.json", ".jsonl.gz")),
        parse_signer("o" * 43).verifier.public_key_text,
    )
    code, _, error = run("verify", certificate_path(result), "--key", other_key)
    assert (code, "was not signed with the key" in error) == (1, True)
    code, _, error = run("verify", certificate_path(result), "--data", "nowhere")
    assert (code, error) == (1, NO_KEY)
    export.write_bytes(export.read_bytes()[:-20])
    code, _, error = run("verify", certificate_path(result))
    assert (code, "cannot be read from line" in error) == (1, True)
    export.unlink()
    code, out, error = run("verify", certificate_path(result))
    assert (code, out, error.startswith(f"{export} does not exist. Name the export with --export, or ")) == (
        1,
        "",
        True,
    )
    code, out, _ = run("verify", certificate_path(result), "--without-export")
    assert (code, out.splitlines()[-1]) == (0, "The export was not checked.")
    assert run("verify", certificate_path(result), "--export", str(export))[0] == 1
    assert run("verify", certificate_path(result), "--export", str(export), "--without-export")[0] == 1
    assert run("verify", "nowhere")[2] == "nowhere cannot be read: No such file or directory.\n"


def test_without_the_confirmation_nothing_is_offboarded(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 3)
    for arguments in ((tenant,), (tenant, "--confirm", "acme")):
        code, out, error = run("offboard", *arguments)
        assert (code, out) == (1, "")
        assert error.splitlines()[-1] == "confirm must be the id of the tenant to offboard"
    assert run("offboard", "nobody-here", "--confirm", "nobody-here")[0] == 1
    assert len(items_of(all_items(stack), tenant)) == 3
    assert stored_job(stack, tenant) == {}


@pytest.mark.full("waits until a lease of 60 s is over")
def test_on_aws_the_migrator_offboards_and_the_service_role_cannot(
    stack: ServiceStack, tenant: TenantId, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stack, tenant, 5)
    command_runner.use_role_on_aws(gate, MIGRATOR, monkeypatch)
    monkeypatch.setenv("KEYFENCE_READ_TIMEOUT_SECONDS", "1")
    command = ("offboard", tenant, "--confirm", tenant, "--data", "nowhere")
    assert "--exports DIR" in run(*command)[2]
    monkeypatch.setenv("KEYFENCE_EXPORTS", str(tmp_path / "exports"))
    assert run(*command)[2].startswith("KEYFENCE_SIGNING_KEY is missing")
    monkeypatch.setenv("KEYFENCE_SIGNING_KEY", "dev-" + "s" * 43)
    assert "use another key on AWS" in run(*command)[2]
    monkeypatch.setenv("KEYFENCE_SIGNING_KEY", "s" * 43)
    assert len(items_of(all_items(stack), tenant)) == 5
    command_runner.use_role_on_aws(gate, SERVICE_BASE, monkeypatch)
    code, _, error = run(*command)
    assert code == 1
    assert "To resume: keyfence job resume" in error
    assert len(items_of(all_items(stack), tenant)) == 5, "the service may neither scan nor purge"
    command_runner.use_role_on_aws(gate, MIGRATOR, monkeypatch)
    code, _, _ = run(*command)
    assert (code, items_of(all_items(stack), tenant)) == (0, [])
    (certificate,) = (tmp_path / "exports").glob("*.certificate.json")
    assert run("verify", str(certificate), "--data", "nowhere")[0] == 0


def test_every_tenant_is_measured_and_the_result_is_stored(stack: ServiceStack, tenant: TenantId) -> None:
    fill(stack, tenant, 12)
    expected = sum(stored_size(_as_json(item)) for item in items_of(all_items(stack), tenant))
    empty = asyncio.run(stack.new_tenant())
    code, out, _ = run("measure", "--json", "--rate", "100000")
    assert (code, json.loads(out)[tenant], json.loads(out)[empty]) == (
        0,
        {"items": 12, "bytes": expected},
        {"items": 0, "bytes": 0},
    )
    result = asyncio.run(
        stack.operator_client().data("query($id: ID!) { tenant(id: $id) { storedBytes version } }", id=tenant)
    )
    assert result["tenant"] == {"storedBytes": float(expected), "version": 1}
    code, out, _ = run("measure")
    assert [tenant, "12", f"{expected:,}"] in [line.split() for line in out.splitlines()]


def _as_json(item: Any) -> Any:
    return json.loads(json.dumps(item, default=lambda value: base64.b64encode(value).decode()))
