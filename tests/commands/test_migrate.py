"""keyfence migrate keys, resume and show, as they are typed, and killed."""

import json
import signal

import pytest

from keyfence_iam.tenant import TenantId
from tests.commands import command_runner as typed
from tests.engine.rekey_run import fill_unkeyed, record, users_of
from tests.stack import World

pytestmark = pytest.mark.usefixtures("terminal")

MANY = 80
NOBODYS = "mig_01M7HHHGKHN6S6V7032B0W8CKZ"


def run(*arguments: str) -> tuple[int, str, str]:
    return typed.run("migrate", *arguments)


def torn_at_work(world: World, tenant: TenantId, ending: signal.Signals) -> tuple[int, str]:
    """Ended as soon as it has changed something and not all."""
    command = ("migrate", "keys", "--tenant", tenant, "--rate", "24")
    return typed.run_and_end(ending, lambda: 0 < record(world, tenant).get("itemsCopied", 0) < MANY, *command)


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


@pytest.mark.full("kills processes")
@pytest.mark.one_engine
def test_a_process_that_is_killed_is_followed_by_one_that_finishes(world: World, tenant: TenantId) -> None:
    right = fill_unkeyed(world, tenant, MANY)
    code, _ = torn_at_work(world, tenant, signal.SIGKILL)
    assert code == -signal.SIGKILL
    torn = record(world, tenant)
    assert torn["worker"], "its lease is not over, and nobody waits for the dead"
    code, out, _ = run("resume", torn["id"], "--json")
    assert (code, json.loads(out)["phase"]) == (0, "FINISHED")
    assert users_of(world, tenant) == right


@pytest.mark.full("ends processes")
@pytest.mark.one_engine
def test_an_interrupted_one_says_how_to_go_on(world: World, tenant: TenantId) -> None:
    right = fill_unkeyed(world, tenant, MANY)
    code, said = torn_at_work(world, tenant, signal.SIGINT)
    torn = record(world, tenant)
    assert code == 130
    last = f"Interrupted. {torn['itemsCopied']} items are changed; keyfence migrate resume {torn['id']}"
    assert said.splitlines()[-1] == last
    assert torn.get("worker") is None
    assert len([item for item in users_of(world, tenant) if "GSI1PK" in item]) == torn["itemsCopied"]
    code, out, _ = run("resume", torn["id"], "--json")
    assert (code, json.loads(out)["itemsCopied"], users_of(world, tenant)) == (0, MANY, right)


@pytest.mark.one_engine
def test_what_is_not_there_is_said(world: World) -> None:
    assert "no such migration" in run("show", NOBODYS)[2]
    assert "no such migration" in run("resume", NOBODYS)[2]
    assert "id must be an id of the form mig_" in run("resume", "off_acme")[2]
    assert "there is no type Unheard" in run("keys", "--type", "Unheard")[2]
