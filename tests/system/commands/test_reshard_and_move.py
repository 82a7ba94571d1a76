"""keyfence reshard and keyfence move: complete runs, interrupted and killed runs, and how they are resumed."""

import asyncio
import json
import signal
from typing import Any

import pytest

from keyfence.store.keys import Fence
from keyfence.store.shards import ShardCounts, ShardMap
from keyfence_iam.tenant import TenantId
from tests import tier
from tests.stack import ServiceStack
from tests.system.commands.command_runner import run, run_and_end, run_json
from tests.system.jobs.offboarding_run import all_items, items_of, put_items
from tests.system.jobs.rekey_run import record, right_items, users_of, without_keys

pytestmark = [pytest.mark.usefixtures("terminal", "short_settle", "job_sleep"), pytest.mark.one_engine]

ITEM_COUNT = 80
FOUR_SHARDS = ShardMap({"users": ShardCounts(read_shards=4, write_shards=4)})


def show_json(tenant: TenantId) -> Any:
    return run_json("tenant", "show", tenant)


def show_words(tenant: TenantId) -> list[list[str]]:
    """Returns the words of each line that `keyfence tenant show` prints."""
    return [line.split() for line in run("tenant", "show", tenant)[1].splitlines()]


def users_shards(tenant: TenantId) -> tuple[int, int, str | None]:
    (counts,) = [entry for entry in show_json(tenant)["shards"] if entry["collection"] == "users"]
    return counts["readShards"], counts["writeShards"], counts["jobId"]


def silo_items(stack: ServiceStack, tenant: TenantId) -> list[Any]:
    """Returns the items in the tenant's silo, or none if the tenant has no silo."""
    client, table = stack.engine_client(), f"{stack.settings.table}-silo-{tenant}"
    if table not in client.list_tables()["TableNames"]:
        return []
    pages = client.get_paginator("scan").paginate(TableName=table)
    return items_of([item for page in pages for item in page["Items"]], tenant)


def end_after_first_changes(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals, *command: str
) -> tuple[int, str]:
    """Runs the command and ends it as soon as it has changed some items, but not all."""
    return run_and_end(ending, lambda: 0 < record(stack, tenant).get("itemsChanged", 0) < ITEM_COUNT, *command)


def phases(error: str) -> list[str]:
    return list(dict.fromkeys(line.partition(": ")[2].partition(",")[0] for line in error.splitlines()))


def test_a_collection_grows_shrinks_and_is_rebalanced(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, ITEM_COUNT))
    code, out, error = run("reshard", tenant, "users", "4", "--as", "ann", "--json")
    finished = json.loads(out)
    assert (code, finished["kind"], finished["phase"], finished["createdBy"]) == (0, "RESHARD", "FINISHED", "cli:ann")
    assert finished["parameters"] == {"collection": "users", "shards": 4, "kind": "GROW"}
    assert phases(error) == ["started", "settling", "settled", "finished"]
    assert (users_shards(tenant), users_of(stack, tenant)) == ((4, 4, None), right_items(tenant, ITEM_COUNT))
    rebalanced = run_json("reshard", tenant, "users", "4", "--rebalance")
    assert rebalanced["itemsChanged"] > ITEM_COUNT / 2
    assert users_of(stack, tenant) == right_items(tenant, ITEM_COUNT, FOUR_SHARDS)
    code, out, _ = run("reshard", tenant, "users", "1")
    assert (code, out.splitlines()[0].endswith(f"RESHARD of {tenant}: FINISHED")) == (0, True)
    assert (users_shards(tenant), users_of(stack, tenant)) == ((1, 1, None), right_items(tenant, ITEM_COUNT))


def test_a_tenant_moves_to_its_silo_and_back(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, ITEM_COUNT))
    before = items_of(all_items(stack), tenant)
    code, out, error = run("move", tenant, "silo", "--as", "ann", "--json")
    finished = json.loads(out)
    assert (code, finished["kind"], finished["phase"], finished["createdBy"]) == (0, "MOVE", "FINISHED", "cli:ann")
    assert (finished["itemsChanged"], finished["itemsTotal"]) == (len(before), len(before))
    assert phases(error)[:4] == ["started", "counting", "dual-settling", "copying-1"]
    assert (items_of(all_items(stack), tenant), silo_items(stack, tenant), show_json(tenant)["placement"]) == (
        [],
        before,
        "SILO",
    )
    code, out, _ = run("move", tenant, "POOL")
    assert (code, out.splitlines()[0].endswith(f"MOVE of {tenant}: FINISHED")) == (0, True)
    assert (items_of(all_items(stack), tenant), silo_items(stack, tenant), show_json(tenant)["placement"]) == (
        before,
        [],
        "POOL",
    )


def test_a_reshard_or_move_to_the_current_state_does_nothing(stack: ServiceStack, tenant: TenantId) -> None:
    assert run("reshard", tenant, "users", "1") == (0, f"users of {tenant} already has 1 shard.\n", "")
    assert run_json("reshard", tenant, "users", "1") == {"id": None}
    code, out, error = run("move", tenant, "pool")
    assert (code, out, error) == (0, f"{tenant} is already in the POOL.\n", "")
    assert run_json("move", tenant, "pool") == {"id": None}
    assert record(stack, tenant) == {}


def test_an_impossible_reshard_or_move_is_an_error_and_starts_no_job(stack: ServiceStack, tenant: TenantId) -> None:
    message_by_command = {
        ("reshard", "nobody-here", "users", "2"): "no such tenant",
        ("move", "nobody-here", "silo"): "no such tenant",
        ("reshard", "No Body", "users", "2"): "tenant",
        ("reshard", tenant, "unheard", "2"): "collection must be one of activity, ",
        ("reshard", tenant, "counters", "101"): "counters can have 1 to 100 shards",
        ("reshard", tenant, "users", "3", "--rebalance"): "shards must be 1: a rebalance does not change their number",
    }
    for command, message in message_by_command.items():
        code, out, error = run(*command)
        assert (code, out, message in error) == (1, "", True), error
    for command in (("reshard", tenant, "users", "0"), ("reshard", tenant, "users", "257"), ("move", tenant, "moon")):
        assert run(*command)[0] == 2
    assert record(stack, tenant) == {}


@pytest.mark.parametrize(
    "ending",
    tier.cases([signal.SIGINT, signal.SIGKILL], default=[signal.SIGKILL], reason="kills processes"),
    ids=lambda number: number.name,
)
def test_a_move_that_was_ended_while_copying_is_resumed_by_the_same_command(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals
) -> None:
    put_items(stack, right_items(tenant, ITEM_COUNT))
    before = items_of(all_items(stack), tenant)
    code, error = end_after_first_changes(stack, tenant, ending, "move", tenant, "silo", "--rate", "60")
    interrupted = record(stack, tenant)
    if ending is signal.SIGINT:
        changes = f"{interrupted['itemsChanged']} items changed"
        last_line = f"Interrupted. {changes}. To resume: keyfence job resume {interrupted['id']}"
        assert (code, error.splitlines()[-1], interrupted.get("worker")) == (130, last_line, None)
    else:
        assert code == -signal.SIGKILL
        assert interrupted["worker"], (
            "the lease of the killed worker is not over, and the next command does not wait for its end"
        )
    assert len(silo_items(stack, tenant)) >= interrupted["itemsChanged"]
    assert items_of(all_items(stack), tenant) == before, "the tenant is still read from the pool"
    resumed = run_json("move", tenant, "silo")
    assert (resumed["id"], resumed["phase"], resumed["itemsTotal"]) == (interrupted["id"], "FINISHED", len(before))
    assert (items_of(all_items(stack), tenant), silo_items(stack, tenant)) == ([], before)


@pytest.mark.full("ends processes")
def test_an_interrupted_move_is_cancelled_by_a_move_back(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, ITEM_COUNT))
    before = items_of(all_items(stack), tenant)
    end_after_first_changes(stack, tenant, signal.SIGINT, "move", tenant, "silo", "--rate", "60")
    interrupted = record(stack, tenant)
    code, out, error = run("reshard", tenant, "users", "2")
    assert (code, out, interrupted["id"] in error) == (1, "", True)
    assert run_json("move", tenant, "pool")["id"] == interrupted["id"]
    assert (items_of(all_items(stack), tenant), silo_items(stack, tenant), show_json(tenant)["placement"]) == (
        before,
        [],
        "POOL",
    )


@pytest.mark.full("ends processes")
def test_a_move_is_resumed_by_its_id(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, ITEM_COUNT))
    before = items_of(all_items(stack), tenant)
    end_after_first_changes(stack, tenant, signal.SIGINT, "move", tenant, "silo", "--rate", "60")
    resumed = run_json("job", "resume", record(stack, tenant)["id"])
    assert (resumed["kind"], resumed["phase"]) == ("MOVE", "FINISHED")
    assert run_json("job", "resume", resumed["id"]) == resumed, "a finished job is not run again"
    assert (items_of(all_items(stack), tenant), silo_items(stack, tenant)) == ([], before)


@pytest.mark.parametrize(
    "ending",
    tier.cases([signal.SIGINT, signal.SIGKILL], default=[signal.SIGKILL], reason="kills processes"),
    ids=lambda number: number.name,
)
def test_an_ended_rebalance_blocks_other_jobs_and_is_resumed(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals
) -> None:
    put_items(stack, right_items(tenant, ITEM_COUNT))
    run("reshard", tenant, "users", "4")
    command = ("reshard", tenant, "users", "4", "--rebalance")
    code, _ = run_and_end(ending, lambda: record(stack, tenant).get("itemsChanged", 0) > 0, *command, "--rate", "30")
    assert code == (130 if ending is signal.SIGINT else -signal.SIGKILL)
    interrupted = record(stack, tenant)
    assert 0 < interrupted["itemsChanged"] < ITEM_COUNT / 2
    assert ["users", "4", "4", interrupted["id"]] in show_words(tenant)
    for other in (
        ("reshard", tenant, "users", "8"),
        ("tenant", "offboard", tenant, "--confirm", tenant),
        ("move", tenant, "silo"),
    ):
        code, out, error = run(*other)
        assert (code, out, interrupted["id"] in error) == (1, "", True)
    resumed = run_json(*command) if ending is signal.SIGINT else run_json("job", "resume", interrupted["id"])
    assert (resumed["id"], resumed["phase"]) == (interrupted["id"], "FINISHED")
    assert users_of(stack, tenant) == right_items(tenant, ITEM_COUNT, FOUR_SHARDS)
    assert users_shards(tenant) == (4, 4, None)


@pytest.mark.full("ends processes")
def test_a_move_that_was_interrupted_during_the_settle_time_is_resumed_without_loss(
    stack: ServiceStack, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_items(stack, right_items(tenant, 3))
    monkeypatch.setenv("KEYFENCE_TENANT_CACHE_SECONDS", "60")
    command = ("move", tenant, "silo")
    code, error = run_and_end(signal.SIGINT, lambda: record(stack, tenant).get("phase") == "DUAL-SETTLING", *command)
    interrupted = record(stack, tenant)
    assert (code, interrupted.get("worker")) == (130, None)
    assert error.splitlines()[-1].endswith(f"keyfence job resume {interrupted['id']}")
    expected_move = {"to": "SILO", "phase": "DUAL", "job": interrupted["id"], "isCancelled": False}
    assert show_json(tenant)["move"] == expected_move
    assert ["Moving", "to", "SILO,", "DUAL,", "by", interrupted["id"]] in show_words(tenant)
    query = stack.operator_client().data(
        "query($id: ID!) { tenant(id: $id) { move { to phase job isCancelled } } }", id=tenant
    )
    assert asyncio.run(query)["tenant"] == {"move": expected_move}
    monkeypatch.setenv("KEYFENCE_TENANT_CACHE_SECONDS", "0.05")
    assert run_json(*command)["id"] == interrupted["id"]
    assert (len(silo_items(stack, tenant)), show_json(tenant)["move"]) == (3, None)


def test_a_move_leaves_a_tenant_whose_id_is_longer_by_one_character_alone(
    stack: ServiceStack, tenant: TenantId
) -> None:
    neighbour = asyncio.run(stack.new_tenant(f"{tenant}0"))
    put_items(stack, [*right_items(tenant, 4), *right_items(neighbour, 4)])
    before = items_of(all_items(stack), neighbour)
    run_json("move", tenant, "silo")
    assert {item["PK"]["S"].startswith(Fence.for_tenant(tenant).prefix) for item in silo_items(stack, tenant)} == {True}
    assert (items_of(all_items(stack), neighbour), silo_items(stack, neighbour)) == (before, [])


def test_a_tenant_in_a_silo_is_measured_and_offboarded_there(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, 5))
    before = run_json("tenant", "measure")[tenant]
    run_json("move", tenant, "silo")
    put_items(stack, right_items(tenant, 1))
    assert (run_json("tenant", "measure")[tenant], show_json(tenant)["storedBytes"]) == (before, before["bytes"])
    finished = run_json("tenant", "offboard", tenant, "--confirm", tenant)
    assert (finished["phase"], finished["itemsExported"], finished["itemsPurged"]) == ("FINISHED", 6, 6)
    assert finished["certificate"]["claims"]["silo"] == f"{stack.settings.table}-silo-{tenant}"
    assert f"{stack.settings.table}-silo-{tenant}" not in stack.engine_client().list_tables()["TableNames"]
    assert items_of(all_items(stack), tenant) == []
    assert run_json("tenant", "measure")[tenant] == {"items": 0, "bytes": 0}


def move_to_silo_with_wrong_keys(stack: ServiceStack, tenant: TenantId, count: int) -> list[Any]:
    """Moves the tenant to a silo and writes users without index keys there. Returns the users with the right keys."""
    run_json("move", tenant, "silo")
    expected = right_items(tenant, count)
    for item in without_keys(expected):
        stack.engine_client().put_item(TableName=f"{stack.settings.table}-silo-{tenant}", Item=item)
    return expected


def test_rekey_corrects_keys_in_a_silo(stack: ServiceStack, tenant: TenantId) -> None:
    expected = move_to_silo_with_wrong_keys(stack, tenant, 6)
    assert run_json("rekey", "--tenant", tenant, "--dry-run")["counts"] == {"wrong": 6}
    assert run_json("rekey", "--tenant", tenant)["itemsChanged"] == 6
    assert silo_items(stack, tenant) == expected


@pytest.mark.full("many tenants")
def test_rekey_corrects_keys_of_all_tenants_in_the_pool_and_in_silos(stack: ServiceStack, tenant: TenantId) -> None:
    pool_tenant, second_silo_tenant = (asyncio.run(stack.new_tenant()) for _ in range(2))
    put_items(stack, without_keys(right_items(pool_tenant, 3)))
    expected_items = {
        id: move_to_silo_with_wrong_keys(stack, id, count) for id, count in ((tenant, 2), (second_silo_tenant, 4))
    }
    put_items(stack, without_keys(right_items(tenant, 1)))
    dry_run = run_json("rekey", "--dry-run")
    assert dry_run["counts"]["wrong"] == 9, "items in the pool are not counted if their tenant is in a silo"
    assert run_json("rekey")["itemsChanged"] == 9
    assert users_of(stack, pool_tenant) == right_items(pool_tenant, 3)
    assert {id: silo_items(stack, id) for id in expected_items} == expected_items
    assert "wrong" not in run_json("rekey", "--dry-run")["counts"]
