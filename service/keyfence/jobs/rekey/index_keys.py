"""Compares the index keys that an item has with those that its entity declares."""

from typing import Any

from keyfence.store.codec import Item
from keyfence.store.entity import INDEXES, Entity, Index, key_names
from keyfence.store.job_writes import IndexKeys
from keyfence.store.keys import Fence, Key, KeyPair
from keyfence.store.shards import ShardMap, shard_suffix


class UnreadableItem(Exception):
    """A job cannot read or change this item. `reason` is the word under which the job counts it."""

    def __init__(self, message: str, reason: str = "unreadable") -> None:
        super().__init__(message)
        self.reason = reason


def differing_index_keys(
    entity: Entity[Any] | None, item: Item, fence: Fence, shards: ShardMap
) -> dict[str, str | None]:
    """Returns the index key attributes that are wrong, with their right values.

    The value None means that the item should not have the attribute. Raises UnreadableItem if the item has no declared
    type (`entity` is None), cannot be read, or has another primary key than its type declares."""
    if entity is None:
        raise UnreadableItem(f"type {item.get('type', {}).get('S', '')!r}", "unknown")
    try:
        model = entity.from_item(item)
        pairs = {index: entity.key_pair(index, model, fence, shards) for index in entity.keys}
        int(item["version"]["N"])
    except Exception as error:
        raise UnreadableItem(f"{type(error).__name__}: {error}") from error
    pair = pairs["table"]
    if pair is None or _keep_shard(entity.keys["table"], pair, item, "table", shards) != _primary_key(item):
        raise UnreadableItem("its primary key is not that of its type")
    right_keys = [_right_keys(entity, index, pairs.get(index), item, shards) for index in INDEXES]
    return {name: value for keys in right_keys for name, value in keys.items() if _string_value(item, name) != value}


def foreign_index_keys(item: Item, fence: Fence) -> tuple[str, ...]:
    """Returns the key attributes of all indexes in which the item has a partition key outside the fence of its tenant.
    No code of the service writes such a key."""
    names = (key_names(index) for index in INDEXES)
    foreign = [pair for pair in names if pair.partition in item and not fence.contains(item[pair.partition]["S"])]
    return tuple(name for pair in foreign for name in pair if name in item)


def _right_keys(entity: Entity[Any], index: Index, pair: KeyPair | None, item: Item, shards: ShardMap) -> IndexKeys:
    names = key_names(index)
    if pair is None:
        return {names.partition: None, names.sort: None}
    right = _keep_shard(entity.keys[index], pair, item, index, shards)
    return {names.partition: right.partition, names.sort: right.sort}


def _keep_shard(key: Key, pair: KeyPair, item: Item, index: Index, shards: ShardMap) -> KeyPair:
    """Returns `pair` with the shard that the item is in now, if the list stays the same and servers read that shard.
    Otherwise returns `pair`.

    So a re-key does not move items between the shards of a list. Only a reshard does."""
    stored = _string_value(item, key_names(index).partition)
    if key.sharding is None or stored is None:
        return pair
    partition, _, suffix = stored.rpartition("#")
    is_same_list = partition == pair.partition.rpartition("#")[0]
    read_shards = range(shards.counts_of(key.sharding.collection).read_shards)
    is_read = suffix in {shard_suffix(shard) for shard in read_shards}
    return KeyPair(stored, pair.sort) if is_same_list and is_read else pair


def _primary_key(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _string_value(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None
