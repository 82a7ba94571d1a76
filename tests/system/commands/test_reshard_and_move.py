"""keyfence reshard and keyfence move, and resuming them, as they are typed, interrupted and killed."""

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

pytestmark = [pytest.mark.usefixtures("terminal", "short_settle"), pytest.mark.one_engine]

MANY = 80
FOUR = ShardMap({"users": ShardCounts(read_shards=4, write_shards=4)})


def shown(tenant: TenantId) -> Any:
    return run_json("tenant", "show", tenant)


def table(tenant: TenantId) -> list[list[str]]:
    """What people see, word by word."""
    return [line.split() for line in run("tenant", "show", tenant)[1].splitlines()]


def users_shards(tenant: TenantId) -> tuple[int, int, str | None]:
    (found,) = [one for one in shown(tenant)["shards"] if one["collection"] == "users"]
    return found["readShards"], found["writeShards"], found["jobId"]


def own(stack: ServiceStack, tenant: TenantId) -> list[Any]:
    """What is in the table of the tenant's own, or nothing where there is none."""
    client, table = stack.engine_client(), f"{stack.settings.table}-silo-{tenant}"
    if table not in client.list_tables()["TableNames"]:
        return []
    pages = client.get_paginator("scan").paginate(TableName=table)
    return items_of([item for page in pages for item in page["Items"]], tenant)


def torn_at_work(stack: ServiceStack, tenant: TenantId, ending: signal.Signals, *command: str) -> tuple[int, str]:
    """Ended as soon as it has changed something and not all."""
    return run_and_end(ending, lambda: 0 < record(stack, tenant).get("itemsChanged", 0) < MANY, *command)


def phases(said: str) -> list[str]:
    return list(dict.fromkeys(line.partition(": ")[2].partition(",")[0] for line in said.splitlines()))


def test_a_collection_grows_shrinks_and_is_rebalanced(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, MANY))
    code, out, said = run("reshard", tenant, "users", "4", "--as", "ann", "--json")
    grown = json.loads(out)
    assert (code, grown["kind"], grown["phase"], grown["createdBy"]) == (0, "RESHARD", "FINISHED", "cli:ann")
    assert grown["parameters"] == {"collection": "users", "shards": 4, "kind": "GROW"}
    assert phases(said) == ["started", "settling", "settled", "finished"]
    assert (users_shards(tenant), users_of(stack, tenant)) == ((4, 4, None), right_items(tenant, MANY))
    spread = run_json("reshard", tenant, "users", "4", "--rebalance")
    assert spread["itemsChanged"] > MANY / 2
    assert users_of(stack, tenant) == right_items(tenant, MANY, FOUR)
    code, out, _ = run("reshard", tenant, "users", "1")
    assert (code, out.splitlines()[0].endswith(f"RESHARD of {tenant}: FINISHED")) == (0, True)
    assert (users_shards(tenant), users_of(stack, tenant)) == ((1, 1, None), right_items(tenant, MANY))


def test_a_tenant_goes_to_its_own_table_and_comes_back(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, MANY))
    before = items_of(all_items(stack), tenant)
    code, out, said = run("move", tenant, "silo", "--as", "ann", "--json")
    gone = json.loads(out)
    assert (code, gone["kind"], gone["phase"], gone["createdBy"]) == (0, "MOVE", "FINISHED", "cli:ann")
    assert (gone["itemsChanged"], gone["itemsTotal"]) == (len(before), len(before))
    assert phases(said)[:4] == ["started", "counting", "dual-settling", "copying-1"]
    assert (items_of(all_items(stack), tenant), own(stack, tenant), shown(tenant)["placement"]) == ([], before, "SILO")
    code, out, _ = run("move", tenant, "POOL")
    assert (code, out.splitlines()[0].endswith(f"MOVE of {tenant}: FINISHED")) == (0, True)
    assert (items_of(all_items(stack), tenant), own(stack, tenant), shown(tenant)["placement"]) == (before, [], "POOL")


def test_where_all_is_so_already_nothing_is_done(stack: ServiceStack, tenant: TenantId) -> None:
    assert run("reshard", tenant, "users", "1") == (0, f"users of {tenant} already has 1 shard.\n", "")
    assert run_json("reshard", tenant, "users", "1") == {"id": None}
    code, out, said = run("move", tenant, "pool")
    assert (code, out, said) == (0, f"{tenant} is already in the POOL.\n", "")
    assert run_json("move", tenant, "pool") == {"id": None}
    assert record(stack, tenant) == {}


def test_what_cannot_be_is_said_and_nothing_is_begun(stack: ServiceStack, tenant: TenantId) -> None:
    refused = {
        ("reshard", "nobody-here", "users", "2"): "no such tenant",
        ("move", "nobody-here", "silo"): "no such tenant",
        ("reshard", "No Body", "users", "2"): "tenant",
        ("reshard", tenant, "unheard", "2"): "collection must be one of users, ",
        ("reshard", tenant, "counters", "101"): "counters can have 1 to 100 shards",
        ("reshard", tenant, "users", "3", "--rebalance"): "shards must be 1: a rebalance does not change their number",
    }
    for command, words in refused.items():
        code, out, said = run(*command)
        assert (code, out, words in said) == (1, "", True), said
    for command in (("reshard", tenant, "users", "0"), ("reshard", tenant, "users", "257"), ("move", tenant, "moon")):
        assert run(*command)[0] == 2
    assert record(stack, tenant) == {}


@pytest.mark.parametrize(
    "ending",
    tier.cases([signal.SIGINT, signal.SIGKILL], default=[signal.SIGKILL], reason="kills processes"),
    ids=lambda number: number.name,
)
def test_a_move_that_was_ended_while_it_copied_is_gone_on_with(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals
) -> None:
    put_items(stack, right_items(tenant, MANY))
    before = items_of(all_items(stack), tenant)
    code, said = torn_at_work(stack, tenant, ending, "move", tenant, "silo", "--rate", "60")
    torn = record(stack, tenant)
    if ending is signal.SIGINT:
        words = f"Interrupted. {torn['itemsChanged']} items changed. To resume: keyfence job resume {torn['id']}"
        assert (code, said.splitlines()[-1], torn.get("worker")) == (130, words, None)
    else:
        assert code == -signal.SIGKILL
        assert torn["worker"], "its lease is not over, and nobody waits for the dead"
    assert len(own(stack, tenant)) >= torn["itemsChanged"]
    assert items_of(all_items(stack), tenant) == before, "the tenant is read where it was"
    again = run_json("move", tenant, "silo")
    assert (again["id"], again["phase"], again["itemsTotal"]) == (torn["id"], "FINISHED", len(before))
    assert (items_of(all_items(stack), tenant), own(stack, tenant)) == ([], before)


@pytest.mark.full("ends processes")
def test_a_move_that_was_interrupted_is_called_off_by_asking_for_where_it_came_from(
    stack: ServiceStack, tenant: TenantId
) -> None:
    put_items(stack, right_items(tenant, MANY))
    before = items_of(all_items(stack), tenant)
    torn_at_work(stack, tenant, signal.SIGINT, "move", tenant, "silo", "--rate", "60")
    torn = record(stack, tenant)
    code, out, said = run("reshard", tenant, "users", "2")
    assert (code, out, torn["id"] in said) == (1, "", True)
    assert run_json("move", tenant, "pool")["id"] == torn["id"]
    assert (items_of(all_items(stack), tenant), own(stack, tenant), shown(tenant)["placement"]) == (before, [], "POOL")


@pytest.mark.full("ends processes")
def test_a_move_is_resumed_by_its_id(stack: ServiceStack, tenant: TenantId) -> None:
    put_items(stack, right_items(tenant, MANY))
    before = items_of(all_items(stack), tenant)
    torn_at_work(stack, tenant, signal.SIGINT, "move", tenant, "silo", "--rate", "60")
    resumed = run_json("job", "resume", record(stack, tenant)["id"])
    assert (resumed["kind"], resumed["phase"]) == ("MOVE", "FINISHED")
    assert run_json("job", "resume", resumed["id"]) == resumed, "there is nothing left to do"
    assert (items_of(all_items(stack), tenant), own(stack, tenant)) == ([], before)


@pytest.mark.parametrize(
    "ending",
    tier.cases([signal.SIGINT, signal.SIGKILL], default=[signal.SIGKILL], reason="kills processes"),
    ids=lambda number: number.name,
)
def test_a_rebalance_that_was_ended_keeps_others_out_and_is_gone_on_with(
    stack: ServiceStack, tenant: TenantId, ending: signal.Signals
) -> None:
    put_items(stack, right_items(tenant, MANY))
    run("reshard", tenant, "users", "4")
    command = ("reshard", tenant, "users", "4", "--rebalance")
    code, _ = run_and_end(ending, lambda: record(stack, tenant).get("itemsChanged", 0) > 0, *command, "--rate", "30")
    assert code == (130 if ending is signal.SIGINT else -signal.SIGKILL)
    torn = record(stack, tenant)
    assert 0 < torn["itemsChanged"] < MANY / 2
    assert ["users", "4", "4", torn["id"]] in table(tenant)
    for other in (
        ("reshard", tenant, "users", "8"),
        ("tenant", "offboard", tenant, "--confirm", tenant),
        ("move", tenant, "silo"),
    ):
        code, out, said = run(*other)
        assert (code, out, torn["id"] in said) == (1, "", True)
    again = run_json(*command) if ending is signal.SIGINT else run_json("job", "resume", torn["id"])
    assert (again["id"], again["phase"]) == (torn["id"], "FINISHED")
    assert users_of(stack, tenant) == right_items(tenant, MANY, FOUR)
    assert users_shards(tenant) == (4, 4, None)


@pytest.mark.full("ends processes")
def test_an_interruption_while_servers_settle_loses_nothing(
    stack: ServiceStack, tenant: TenantId, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_items(stack, right_items(tenant, 3))
    monkeypatch.setenv("KEYFENCE_TENANT_CACHE_SECONDS", "60")
    command = ("move", tenant, "silo")
    code, said = run_and_end(signal.SIGINT, lambda: record(stack, tenant).get("phase") == "DUAL-SETTLING", *command)
    torn = record(stack, tenant)
    assert (code, torn.get("worker")) == (130, None)
    assert said.splitlines()[-1].endswith(f"keyfence job resume {torn['id']}")
    under_way = {"to": "SILO", "phase": "DUAL", "job": torn["id"], "isCancelled": False}
    assert shown(tenant)["move"] == under_way
    assert ["Moving", "to", "SILO,", "DUAL,", "by", torn["id"]] in table(tenant)
    asked = stack.operator_client().data(
        "query($id: ID!) { tenant(id: $id) { move { to phase job isCancelled } } }", id=tenant
    )
    assert asyncio.run(asked)["tenant"] == {"move": under_way}
    monkeypatch.setenv("KEYFENCE_TENANT_CACHE_SECONDS", "0.05")
    assert run_json(*command)["id"] == torn["id"]
    assert (len(own(stack, tenant)), shown(tenant)["move"]) == (3, None)


def test_fences_of_a_neighbour_with_a_longer_name_are_not_crossed(stack: ServiceStack, tenant: TenantId) -> None:
    neighbour = asyncio.run(stack.new_tenant(f"{tenant}0"))
    put_items(stack, [*right_items(tenant, 4), *right_items(neighbour, 4)])
    before = items_of(all_items(stack), neighbour)
    run_json("move", tenant, "silo")
    assert {item["PK"]["S"].startswith(Fence.for_tenant(tenant).prefix) for item in own(stack, tenant)} == {True}
    assert (items_of(all_items(stack), neighbour), own(stack, neighbour)) == (before, [])


def test_a_tenant_with_a_table_of_its_own_is_measured_and_offboarded_there(
    stack: ServiceStack, tenant: TenantId
) -> None:
    put_items(stack, right_items(tenant, 5))
    before = run_json("tenant", "measure")[tenant]
    run_json("move", tenant, "silo")
    put_items(stack, right_items(tenant, 1))
    assert (run_json("tenant", "measure")[tenant], shown(tenant)["storedBytes"]) == (before, before["bytes"])
    gone = run_json("tenant", "offboard", tenant, "--confirm", tenant)
    assert (gone["phase"], gone["itemsExported"], gone["itemsPurged"]) == ("FINISHED", 6, 6)
    assert gone["certificate"]["claims"]["silo"] == f"{stack.settings.table}-silo-{tenant}"
    assert f"{stack.settings.table}-silo-{tenant}" not in stack.engine_client().list_tables()["TableNames"]
    assert items_of(all_items(stack), tenant) == []
    assert run_json("tenant", "measure")[tenant] == {"items": 0, "bytes": 0}


def unkeyed(stack: ServiceStack, tenant: TenantId, count: int) -> list[Any]:
    """A tenant in a table of its own, whose users stand in no index there; as they should be."""
    run_json("move", tenant, "silo")
    right = right_items(tenant, count)
    for item in without_keys(right):
        stack.engine_client().put_item(TableName=f"{stack.settings.table}-silo-{tenant}", Item=item)
    return right


def test_keys_are_put_right_in_the_table_that_a_tenant_has_of_its_own(stack: ServiceStack, tenant: TenantId) -> None:
    right = unkeyed(stack, tenant, 6)
    assert run_json("rekey", "--tenant", tenant, "--dry-run")["counts"] == {"wrong": 6}
    assert run_json("rekey", "--tenant", tenant)["itemsChanged"] == 6
    assert own(stack, tenant) == right


@pytest.mark.full("many tenants")
def test_keys_of_all_tenants_are_put_right_in_the_pool_and_in_every_table_beside(
    stack: ServiceStack, tenant: TenantId
) -> None:
    pooled, second = (asyncio.run(stack.new_tenant()) for _ in range(2))
    put_items(stack, without_keys(right_items(pooled, 3)))
    rights = {one: unkeyed(stack, one, count) for one, count in ((tenant, 2), (second, 4))}
    put_items(stack, without_keys(right_items(tenant, 1)))
    counted = run_json("rekey", "--dry-run")
    assert counted["counts"]["wrong"] == 9, "not what lies in the pool though its tenant has left it"
    assert run_json("rekey")["itemsChanged"] == 9
    assert users_of(stack, pooled) == right_items(pooled, 3)
    assert {one: own(stack, one) for one in rights} == rights
    assert "wrong" not in run_json("rekey", "--dry-run")["counts"]
