"""The index keys that an item should have, by its declaration."""

from typing import Any

from keyfence.store.codec import Item
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.keys import Fence, Key, KeyPair
from keyfence.store.rekey import Keys
from keyfence.store.shards import ShardMap, slot_text
from keyfence.store.sweep import INDEXES


class Unreadable(Exception):
    """An item that is not what its type says, and that only somebody who looks at it can put right."""

    def __init__(self, message: str, reason: str = "unreadable") -> None:
        super().__init__(message)
        self.reason = reason


def wrong_keys(entity: Entity[Any], item: Item, fence: Fence, shards: ShardMap) -> dict[str, str | None]:
    """Those that differ, with what they should be."""
    try:
        model = entity.read(item)
        pairs = {index: entity.pair(index, model, fence, shards) for index in entity.keys}
        int(item["version"]["N"])
    except Exception as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    if pairs["table"] is None or _kept(entity.keys["table"], pairs["table"], item, "table", shards) != _held(item):
        raise Unreadable("it is not where its type is kept")
    wanted = [_wanted(entity, index, pairs.get(index), item, shards) for index in INDEXES]
    return {name: value for keys in wanted for name, value in keys.items() if _text(item, name) != value}


def _wanted(entity: Entity[Any], index: Index, pair: KeyPair | None, item: Item, shards: ShardMap) -> Keys:
    names = key_names(index)
    if pair is None:
        return {names.partition: None, names.sort: None}
    kept = _kept(entity.keys[index], pair, item, index, shards)
    return {names.partition: kept.partition, names.sort: kept.sort}


def _kept(key: Key, pair: KeyPair, item: Item, index: Index, shards: ShardMap) -> KeyPair:
    """An item that lies in another slot than a new one would stays there, as long as readers look there."""
    stored = _text(item, key_names(index).partition)
    if key.shard is None or stored is None:
        return pair
    plain, _, slot = stored.rpartition("#")
    same = plain == pair.partition.rpartition("#")[0]
    return KeyPair(stored, pair.sort) if same and slot in _slots(key.shard.collection, shards) else pair


def _slots(collection: str, shards: ShardMap) -> frozenset[str]:
    return frozenset(slot_text(slot) for slot in range(shards.of(collection).read_shards))


def _held(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _text(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None
