"""keyfence rekey, and keyfence job list, show and resume, as they are typed, and killed."""

import json
import signal

import pytest

from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack
from tests.system.commands import command_runner
from tests.system.jobs.rekey_run import fill_unkeyed, record, users_of

pytestmark = pytest.mark.usefixtures("terminal")

MANY = 80
NOBODYS = "job_01M7HHHGKHN6S6V7032B0W8CKZ"


def run(*arguments: str) -> tuple[int, str, str]:
    return command_runner.run(*arguments)


def torn_at_work(stack: ServiceStack, tenant: TenantId, ending: signal.Signals) -> tuple[int, str]:
    """Ended as soon as it has changed something and not all."""
    command = ("rekey", "--tenant", tenant, "--rate", "24")
    return command_runner.run_and_end(ending, lambda: 0 < record(stack, tenant).get("itemsChanged", 0) < MANY, *command)


def test_keys_are_counted_changed_and_shown(stack: ServiceStack, tenant: TenantId) -> None:
    right = fill_unkeyed(stack, tenant, 6)
    code, out, _ = run("rekey", "--tenant", tenant, "--dry-run", "--json")
    told = json.loads(out)
    assert (code, told["counts"], told["itemsChanged"], told["parameters"]) == (
        0,
        {"wrong": 6},
        0,
        {"type": None, "dryRun": True},
    )
    code, out, said = run("rekey", "--tenant", tenant, "--type", "User", "--as", "ann", "--segments", "2", "--json")
    told = json.loads(out)
    assert (code, told["phase"], told["itemsChanged"], told["createdBy"]) == (0, "FINISHED", 6, "cli:ann")
    phases = [line.partition(": ")[2].partition(",")[0] for line in said.splitlines()]
    assert list(dict.fromkeys(phases)) == ["started", "changing-1", "verifying-1", "finished"]
    assert users_of(stack, tenant) == right
    code, out, _ = run("job", "show", told["id"])
    assert (code, out.splitlines()[0]) == (0, f"{told['id']}  REKEY of {tenant}: FINISHED")
    assert json.loads(run("job", "show", told["id"], "--json")[1]) == told
    assert json.loads(run("job", "resume", told["id"], "--json")[1]) == told, "there is nothing left to do"


@pytest.mark.one_engine
def test_a_process_that_is_killed_is_followed_by_one_that_finishes(stack: ServiceStack, tenant: TenantId) -> None:
    right = fill_unkeyed(stack, tenant, MANY)
    code, _ = torn_at_work(stack, tenant, signal.SIGKILL)
    assert code == -signal.SIGKILL
    torn = record(stack, tenant)
    assert torn["worker"], "its lease is not over, and nobody waits for the dead"
    code, out, _ = run("job", "resume", torn["id"], "--json")
    assert (code, json.loads(out)["phase"]) == (0, "FINISHED")
    assert users_of(stack, tenant) == right


@pytest.mark.one_engine
def test_an_interrupted_one_says_how_to_go_on(stack: ServiceStack, tenant: TenantId) -> None:
    right = fill_unkeyed(stack, tenant, MANY)
    code, said = torn_at_work(stack, tenant, signal.SIGINT)
    torn = record(stack, tenant)
    assert code == 130
    last = f"Interrupted. {torn['itemsChanged']} items changed. To resume: keyfence job resume {torn['id']}"
    assert said.splitlines()[-1] == last
    assert torn.get("worker") is None
    assert len([item for item in users_of(stack, tenant) if "GSI1PK" in item]) == torn["itemsChanged"]
    code, out, _ = run("job", "resume", torn["id"], "--json")
    assert (code, json.loads(out)["itemsChanged"], users_of(stack, tenant)) == (0, MANY, right)


@pytest.mark.one_engine
def test_what_is_not_there_is_said(stack: ServiceStack) -> None:
    assert "no such job" in run("job", "show", NOBODYS)[2]
    assert "no such job" in run("job", "resume", NOBODYS)[2]
    assert "id must be an id of the form job_" in run("job", "resume", "off_acme")[2]
    assert "there is no type Unheard" in run("rekey", "--type", "Unheard")[2]


@pytest.mark.one_engine
def test_jobs_of_all_kinds_are_listed_offboardings_too(
    stack: ServiceStack, tenant: TenantId, short_settle: None
) -> None:
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
    assert command_runner.run_json("job", "resume", listed[0]["id"]) == listed[0], "it is finished"
