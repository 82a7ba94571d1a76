"""keyfence rekey and keyfence job: complete runs, interrupted and killed runs, and how they are resumed."""

import json
import signal

import pytest

from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack
from tests.system.commands import command_runner
from tests.system.jobs.rekey_run import fill_unkeyed, record, users_of

pytestmark = pytest.mark.usefixtures("terminal")

ITEM_COUNT = 80
UNKNOWN_JOB = "job_01M7HHHGKHN6S6V7032B0W8CKZ"


def run(*arguments: str) -> tuple[int, str, str]:
    return command_runner.run(*arguments)


def end_after_first_changes(stack: ServiceStack, tenant: TenantId, ending: signal.Signals) -> tuple[int, str]:
    """Runs a re-key and ends its process as soon as it has changed some items, but not all."""
    command = ("rekey", "--tenant", tenant, "--rate", "24")
    return command_runner.run_and_end(
        ending, lambda: 0 < record(stack, tenant).get("itemsChanged", 0) < ITEM_COUNT, *command
    )


def test_rekey_counts_and_corrects_wrong_keys_and_its_job_is_shown(stack: ServiceStack, tenant: TenantId) -> None:
    expected = fill_unkeyed(stack, tenant, 6)
    code, out, _ = run("rekey", "--tenant", tenant, "--dry-run", "--json")
    job = json.loads(out)
    assert (code, job["counts"], job["itemsChanged"], job["parameters"]) == (
        0,
        {"wrong": 6},
        0,
        {"type": None, "dryRun": True},
    )
    code, out, error = run("rekey", "--tenant", tenant, "--type", "User", "--as", "ann", "--segments", "2", "--json")
    job = json.loads(out)
    assert (code, job["phase"], job["itemsChanged"], job["createdBy"]) == (0, "FINISHED", 6, "cli:ann")
    phases = [line.partition(": ")[2].partition(",")[0] for line in error.splitlines()]
    assert list(dict.fromkeys(phases)) == ["started", "changing-1", "verifying-1", "finished"]
    assert users_of(stack, tenant) == expected
    code, out, _ = run("job", "show", job["id"])
    assert (code, out.splitlines()[0]) == (0, f"{job['id']}  REKEY of {tenant}: FINISHED")
    assert json.loads(run("job", "show", job["id"], "--json")[1]) == job
    assert json.loads(run("job", "resume", job["id"], "--json")[1]) == job, "a finished job is not run again"


@pytest.mark.one_engine
def test_job_resume_finishes_a_rekey_whose_process_was_killed(stack: ServiceStack, tenant: TenantId) -> None:
    expected = fill_unkeyed(stack, tenant, ITEM_COUNT)
    code, _ = end_after_first_changes(stack, tenant, signal.SIGKILL)
    assert code == -signal.SIGKILL
    interrupted = record(stack, tenant)
    assert interrupted["worker"], (
        "the lease of the killed worker is not over, and the next command does not wait for its end"
    )
    code, out, _ = run("job", "resume", interrupted["id"], "--json")
    assert (code, json.loads(out)["phase"]) == (0, "FINISHED")
    assert users_of(stack, tenant) == expected


@pytest.mark.one_engine
def test_an_interrupted_rekey_prints_how_to_resume_it(stack: ServiceStack, tenant: TenantId) -> None:
    expected = fill_unkeyed(stack, tenant, ITEM_COUNT)
    code, error = end_after_first_changes(stack, tenant, signal.SIGINT)
    interrupted = record(stack, tenant)
    assert code == 130
    last_line = (
        f"Interrupted. {interrupted['itemsChanged']} items changed. To resume: keyfence job resume {interrupted['id']}"
    )
    assert error.splitlines()[-1] == last_line
    assert interrupted.get("worker") is None
    assert len([item for item in users_of(stack, tenant) if "GSI1PK" in item]) == interrupted["itemsChanged"]
    code, out, _ = run("job", "resume", interrupted["id"], "--json")
    assert (code, json.loads(out)["itemsChanged"], users_of(stack, tenant)) == (0, ITEM_COUNT, expected)


@pytest.mark.one_engine
def test_an_unknown_job_or_type_is_an_error(stack: ServiceStack) -> None:
    assert "no such job" in run("job", "show", UNKNOWN_JOB)[2]
    assert "no such job" in run("job", "resume", UNKNOWN_JOB)[2]
    assert "id must be an id of the form job_" in run("job", "resume", "off_acme")[2]
    assert "there is no type Unknown" in run("rekey", "--type", "Unknown")[2]


@pytest.mark.one_engine
@pytest.mark.usefixtures("job_sleep")
def test_jobs_of_all_kinds_are_listed(stack: ServiceStack, tenant: TenantId) -> None:
    assert run("job", "list", "--tenant", tenant) == (0, "", "There are no jobs.\n")
    fill_unkeyed(stack, tenant, 3)
    for command in (
        ("rekey", "--tenant", tenant),
        ("reshard", tenant, "users", "2"),
        ("move", tenant, "silo"),
        ("tenant", "offboard", tenant, "--confirm", tenant),
    ):
        assert run(*command)[0] == 0
    listed = command_runner.run_json("job", "list", "--tenant", tenant)["jobs"]
    assert [job["kind"] for job in listed] == ["OFFBOARD", "MOVE", "RESHARD", "REKEY"]
    assert {(job["phase"], job["percent"], job["secondsLeft"]) for job in listed} == {("FINISHED", 100.0, 0.0)}
    code, out, _ = run("job", "list", "--tenant", tenant, "--limit", "1")
    heading, row = out.splitlines()
    assert (code, heading.split()[:4]) == (0, ["JOB", "KIND", "TENANT", "PHASE"])
    assert row.split()[:4] == [listed[0]["id"], "OFFBOARD", tenant, "FINISHED"]
    assert command_runner.run_json("job", "resume", listed[0]["id"]) == listed[0], "a finished job is not run again"
