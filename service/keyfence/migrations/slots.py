"""Items that are not in the slot where their collection should have them, and their way there."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from keyfence.errors import Conflict
from keyfence.store.codec import Item, attribute
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.keys import Key
from keyfence.store.rekey import rekey
from keyfence.store.relocation import fold, relocate
from keyfence.store.shards import Moving, Shard, ShardCounts, ShardMap, slot_of, slot_text
from keyfence.store.table import Table

Entities = Mapping[str, Entity[Any]]


class Misplaced(NamedTuple):
    """An item and the partition that it should be in."""

    item: Item
    entity: Entity[Any]
    place: Index
    shard: Shard
    partition: str


def misplaced(item: Item, entities: Entities, collection: str, counts: ShardCounts) -> Iterator[Misplaced]:
    """By its type; an item of no type that is known lies in no slot that anybody reads."""
    entity = entities.get(item.get("type", {}).get("S", ""))
    if entity is None:
        return
    for index, key in entity.keys.items():
        if key.shard and key.shard.collection == collection and (partition := _elsewhere(item, index, key, counts)):
            yield Misplaced(item, entity, index, key.shard, partition)


def _elsewhere(item: Item, index: Index, key: Key, counts: ShardCounts) -> str | None:
    kept = item.get(key_names(index).partition)
    if kept is None or key.shard is None:
        return None
    plain, _, slot = kept["S"].rpartition("#")
    try:
        here, there = int(slot, 16), slot_of(item[attribute(key.shard.by)]["S"], counts.write_shards)
    except (KeyError, ValueError) as error:
        words = f"{item['PK']['S']} / {item['SK']['S']} is no item of {key.shard.collection} that can be moved"
        raise Conflict(f"{words}; look at it, and go on") from error
    return f"{plain}#{slot_text(there)}" if _has_to_go(here, there, key.shard, counts) else None


def _has_to_go(here: int, there: int, shard: Shard, counts: ShardCounts) -> bool:
    """A part of a number is as good in one slot as in another."""
    if counts.moving is Moving.DOWN or shard.folds:
        return here >= counts.write_shards
    return here != there


async def put_right(table: Table, one: Misplaced, counts: ShardCounts) -> bool:
    """Whether it is there now; False where somebody else changed it meanwhile."""
    if one.place != "table":
        return await rekey(table, one.item, {key_names(one.place).partition: one.partition})
    if one.shard.folds is None:
        return await relocate(table, one.item, one.partition)
    shards = ShardMap({one.shard.collection: counts})
    return await fold(table, one.item, one.partition, one.entity, one.shard.folds, shards)
