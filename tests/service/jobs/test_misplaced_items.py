"""A reshard finds the items that are in a wrong shard, and the shard where each should be."""

import asyncio
from typing import Any

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.errors import Conflict
from keyfence.jobs.reshard.misplaced_items import MisplacedItems, find_misplaced
from keyfence.store.shards import MoveDirection, ShardCounts, shard_of, shard_suffix
from tests.fakes.scripted_dynamodb import ScriptedDynamoDB, table

DOWN = ShardCounts(read_shards=8, write_shards=2, move_direction=MoveDirection.DOWN)
UP = ShardCounts(read_shards=8, write_shards=8, former_write_shards=(1,), move_direction=MoveDirection.UP)


def customer(slot: str, **changes: Any) -> Any:
    kept = {
        "PK": {"S": "TENANT#acme#CUST#cus_1"},
        "SK": {"S": "PROFILE"},
        "type": {"S": "Customer"},
        "id": {"S": "cus_1"},
        "GSI2PK": {"S": f"TENANT#acme#CUSTOMERS#{slot}"},
        "version": {"N": "1"},
    }
    return {name: value for name, value in (kept | changes).items() if value is not None}


def wanted(item: Any, counts: ShardCounts, collection: str = "customers") -> list[str]:
    return [
        one.right_partition
        for one in find_misplaced(item, load_domains().entities.tenant_entities_by_type, collection, counts)
    ]


def test_a_shrinking_collection_moves_only_items_of_the_shards_that_it_gives_up() -> None:
    there = f"TENANT#acme#CUSTOMERS#{shard_suffix(shard_of('cus_1', 2))}"
    assert wanted(customer("07"), DOWN) == [there]
    assert wanted(customer("00"), DOWN) == wanted(customer("01"), DOWN) == []


def test_a_rebalance_moves_every_item_to_the_shard_of_a_new_item() -> None:
    slot = shard_suffix(shard_of("cus_1", 8))
    assert wanted(customer(slot), UP) == []
    others = [text for text in map(shard_suffix, range(8)) if text != slot]
    assert {tuple(wanted(customer(one), UP)) for one in others} == {(f"TENANT#acme#CUSTOMERS#{slot}",)}


def test_items_of_other_collections_and_items_without_the_key_are_not_misplaced() -> None:
    assert wanted(customer("07"), DOWN, "users") == []
    assert wanted(customer("07", GSI2PK=None), DOWN) == []
    assert wanted(customer("07", type={"S": "Nothing"}), DOWN) == []


@pytest.mark.parametrize("changes", [{"id": None}, {"GSI2PK": {"S": "TENANT#acme#CUSTOMERS#zz"}}])
def test_an_item_whose_shard_cannot_be_computed_raises_a_conflict_with_its_key(changes: dict[str, Any]) -> None:
    with pytest.raises(Conflict, match="TENANT#acme#CUST#cus_1 / PROFILE"):
        wanted(customer("07", **changes), DOWN)


def test_a_part_of_a_sum_is_misplaced_only_in_a_shard_that_is_given_up() -> None:
    part = {
        "PK": {"S": "TENANT#acme#COUNTER#door#00"},
        "SK": {"S": "METADATA"},
        "type": {"S": "CounterPart"},
        "part": {"S": "some"},
    }
    assert wanted(part, UP, "counters") == []
    assert len(wanted(part | {"PK": {"S": "TENANT#acme#COUNTER#door#05"}}, DOWN, "counters")) == 1


async def test_pages_that_are_moved_at_the_same_time_report_only_their_own_units() -> None:
    """The rate of the job is limited by these units."""
    handle = table(ScriptedDynamoDB([{"ConsumedCapacity": {"CapacityUnits": 30.0}}] * 2))
    misplaced = MisplacedItems(handle, load_domains().entities.tenant_entities_by_type, "customers", DOWN)
    results = await asyncio.gather(misplaced.move([customer("07")]), misplaced.move([customer("06")]))
    assert [(result.changed, result.units) for result in results] == [(1, 30.0), (1, 30.0)]
