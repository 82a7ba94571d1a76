"""Items that are in the wrong shard: how they are found, moved to the right shard, and verified."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from keyfence.errors import Conflict, Internal
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import item_digest
from keyfence.store.codec import Item, attribute_name, item_key
from keyfence.store.dynamodb.batches import get_many
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.job_writes import add_number_and_delete, move_item, update_index_keys
from keyfence.store.keys import Key
from keyfence.store.shards import MoveDirection, ShardCounts, Sharding, ShardMap, shard_of, shard_suffix
from keyfence.store.table import Table

CONCURRENT_MOVES = 8
"""How many items of a segment are moved at the same time."""

EntitiesByType = Mapping[str, Entity[Any]]


class MisplacedItem(NamedTuple):
    """An item that is in the wrong shard of the table or of one index."""

    item: Item
    entity: Entity[Any]
    index_name: Index
    sharding: Sharding
    right_partition: str


def find_misplaced(
    item: Item, entities: EntitiesByType, collection: str, counts: ShardCounts
) -> Iterator[MisplacedItem]:
    """Yields the item once for each of its keys that is in the wrong shard. Yields nothing if its type is unknown."""
    entity = entities.get(item.get("type", {}).get("S", ""))
    if entity is None:
        return
    for index, key in entity.keys.items():
        if key.sharding and key.sharding.collection == collection:
            right_partition = _find_other_partition(item, index, key, counts)
            if right_partition is not None:
                yield MisplacedItem(item, entity, index, key.sharding, right_partition)


def _find_other_partition(item: Item, index: Index, key: Key, counts: ShardCounts) -> str | None:
    """Returns the partition that the item must move to. Returns None if it may stay or has no key in this index."""
    stored = item.get(key_names(index).partition)
    if stored is None or key.sharding is None:
        return None
    partition, _, suffix = stored["S"].rpartition("#")
    try:
        current_shard = int(suffix, 16)
        hashed_value = item[attribute_name(key.sharding.hashed_field)]["S"]
        right_shard = shard_of(hashed_value, counts.write_shards)
    except (KeyError, ValueError) as error:
        raise Conflict(
            f"the shard of item {item['PK']['S']} / {item['SK']['S']} of {key.sharding.collection} cannot be computed; "
            "correct the item, then resume the job"
        ) from error
    must_move = _must_move(current_shard, right_shard, key.sharding, counts)
    return f"{partition}#{shard_suffix(right_shard)}" if must_move else None


def _must_move(current_shard: int, right_shard: int, sharding: Sharding, counts: ShardCounts) -> bool:
    """Tells whether an item must leave its shard.

    If the collection shrinks, only the shards that it gives up are emptied. The same is true for an item with a
    `summed_field`: it is a part of a sum, and may be in any remaining shard."""
    if counts.move_direction is MoveDirection.DOWN or sharding.summed_field:
        return current_shard >= counts.write_shards
    return current_shard != right_shard


async def move_to_shard(table: Table, misplaced: MisplacedItem, counts: ShardCounts) -> bool:
    """Moves an item. Returns False if another writer has changed it meanwhile. The next round finds it again."""
    item, partition, sharding = misplaced.item, misplaced.right_partition, misplaced.sharding
    if misplaced.index_name != "table":
        return await update_index_keys(table, item, {key_names(misplaced.index_name).partition: partition})
    if sharding.summed_field is None:
        return await move_item(table, item, partition)
    shards = ShardMap({sharding.collection: counts})
    return await add_number_and_delete(table, item, partition, misplaced.entity, sharding.summed_field, shards)


@dataclass(frozen=True, slots=True)
class MisplacedItems:
    """Counts or moves the misplaced items of a collection, page by page."""

    table: Table
    entities: EntitiesByType
    collection: str
    counts: ShardCounts

    async def count(self, items: Sequence[Item]) -> PassResult:
        return PassResult(wrong=len(self._find(items)))

    async def move(self, items: Sequence[Item]) -> PassResult:
        misplaced_items, limit = self._find(items), asyncio.Semaphore(CONCURRENT_MOVES)
        table = self.table.with_own_meter()
        outcomes = await asyncio.gather(*(self._move(table, misplaced, limit) for misplaced in misplaced_items))
        moved = [misplaced for misplaced, has_moved in zip(misplaced_items, outcomes, strict=True) if has_moved]
        await self._verify_copies([misplaced for misplaced in moved if _is_copied(misplaced)])
        contended = len(misplaced_items) - len(moved)
        return PassResult(
            changed=len(moved),
            digest=sum(item_digest(misplaced.item) for misplaced in moved),
            counts={"contended": contended} if contended else {},
            units=max(float(len(misplaced_items)), table.caller.meter.write_units),
        )

    def _find(self, items: Sequence[Item]) -> list[MisplacedItem]:
        return [
            misplaced
            for item in items
            for misplaced in find_misplaced(item, self.entities, self.collection, self.counts)
        ]

    async def _move(self, table: Table, misplaced: MisplacedItem, limit: asyncio.Semaphore) -> bool:
        async with limit:
            return await move_to_shard(table, misplaced, self.counts)

    async def _verify_copies(self, moved: Sequence[MisplacedItem]) -> None:
        """Raises Internal if a copy differs from its original although both have the same version.

        A copy with another version is not compared: another writer has changed it since."""
        expected = {item_key(item): item for item in map(_with_new_key, moved)}
        keys = [{"PK": item["PK"], "SK": item["SK"]} for item in expected.values()]
        for item in await get_many(self.table.caller, keys, consistent=True):
            original = expected[item_key(item)]
            if item["version"] == original["version"] and item_digest(item) != item_digest(original):
                raise Internal(f"item {item['PK']['S']} / {item['SK']['S']} differs from the item that was moved there")


def _is_copied(misplaced: MisplacedItem) -> bool:
    """Tells whether the item was moved by writing a copy, and not by changing an index key or adding to a sum."""
    return misplaced.index_name == "table" and misplaced.sharding.summed_field is None


def _with_new_key(misplaced: MisplacedItem) -> Item:
    return {**misplaced.item, key_names(misplaced.index_name).partition: {"S": misplaced.right_partition}}
