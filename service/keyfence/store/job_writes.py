"""Writes that jobs make on stored items, without their models: delete, change index keys, move to another partition."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

from keyfence.errors import Forbidden
from keyfence.store.codec import Item
from keyfence.store.dynamodb.batches import MAX_BATCH_WRITES, chunks, delete_many
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.entity import Entity
from keyfence.store.expressions import Condition, Placeholders, UpdateExpression, absent, equals, present
from keyfence.store.shards import ShardMap
from keyfence.store.table import Table
from keyfence.store.writes import increment

CONCURRENT_BATCHES = 8
"""How many batches of deletes are sent at the same time. More would delay the requests of clients."""

IndexKeys = Mapping[str, str | None]
"""The new values of key attributes of indexes, by name. None removes the attribute."""


async def delete_items(table: Table, keys: Sequence[Item]) -> float:
    """Deletes items. Returns the consumed write units, but at least one unit for each item: an engine may report fewer.

    Raises Forbidden if a key is outside the fence; then no item is deleted."""
    _require_in_fence(table, *(key["PK"]["S"] for key in keys))
    caller, limit = table.caller.with_own_meter(), asyncio.Semaphore(CONCURRENT_BATCHES)

    async def delete(batch: Sequence[Item]) -> None:
        async with limit:
            await delete_many(caller, batch)

    try:
        await asyncio.gather(*(delete(batch) for batch in chunks(keys, MAX_BATCH_WRITES)))
    except DynamoDbError as error:
        raise error.as_keyfence_error() from error
    return max(float(len(keys)), caller.meter.write_units)


async def update_index_keys(table: Table, item: Item, keys: IndexKeys) -> bool:
    """Changes index keys of an item. Returns False if another writer changed the item or these keys since `item` was
    read; then nothing is changed.

    The version stays the same, because clients cannot read index keys."""
    _require_in_fence(table, item["PK"]["S"], *(value for name, value in keys.items() if value and name.endswith("PK")))
    return await _update_index_keys(table, item, keys, _unchanged_version(item))


async def remove_index_keys(table: Table, item: Item, names: Sequence[str]) -> bool:
    """Removes index keys of an item, also if the item has another version than `item`. Returns False if another writer
    changed these keys since `item` was read; then nothing is changed."""
    _require_in_fence(table, item["PK"]["S"])
    return await _update_index_keys(table, item, dict.fromkeys(names), present())


async def _update_index_keys(table: Table, item: Item, keys: IndexKeys, condition: Condition) -> bool:
    """Returns False if the condition fails, or if the item does not have the index keys of `item` any more."""
    placeholders = Placeholders()
    change = UpdateExpression(
        sets={(name,): value for name, value in keys.items() if value is not None},
        removes=tuple((name,) for name, value in keys.items() if value is None),
    )
    unchanged = reduce(and_, (_unchanged_attribute(item, name) for name in keys), condition)
    update = {
        "TableName": table.caller.table,
        "Key": {"PK": item["PK"], "SK": item["SK"]},
        "UpdateExpression": change.render(placeholders),
        "ConditionExpression": unchanged.render(placeholders),
        **placeholders.parameters(),
    }
    try:
        await table.caller.call("UpdateItem", update)
    except DynamoDbError as error:
        if error.code == "ConditionalCheckFailedException":
            return False
        raise error.as_keyfence_error() from error
    return True


async def move_item(table: Table, item: Item, partition: str) -> bool:
    """Moves an item to another partition, with the same sort key.

    Returns False if another writer changed the item since it was read, or if the partition has an item with this sort
    key; then nothing is moved."""
    placeholders = Placeholders()
    put = {"Item": {**item, "PK": {"S": partition}}, "ConditionExpression": absent().render(placeholders)}
    return await _write_and_delete(table, item, partition, {"Put": _with_table(table, put | placeholders.parameters())})


async def add_number_and_delete(
    table: Table, item: Item, partition: str, entity: Entity[Any], field: str, shards: ShardMap
) -> bool:
    """Adds the number in `field` of `item` to the item with the same sort key in `partition`, and deletes `item`.

    Returns False if another writer changed `item` since it was read; then nothing is changed. With the shard counts
    `shards`, the key of `item` must be in `partition`."""
    model = entity.from_item(item)
    addition = increment(entity, model, field, getattr(model, field)).render(table.caller.table, table.fence, shards)
    return await _write_and_delete(table, item, partition, addition)


def _unchanged_attribute(item: Item, name: str) -> Condition:
    return equals(name, item[name]["S"]) if name in item else absent(name)


def _unchanged_version(item: Item) -> Condition:
    return equals("version", int(item["version"]["N"]))


async def _write_and_delete(table: Table, item: Item, partition: str, write: dict[str, Any]) -> bool:
    """Makes a write in `partition` and deletes the item, in one transaction. Returns False if a condition fails."""
    _require_in_fence(table, partition, item["PK"]["S"])
    placeholders = Placeholders()
    delete = {
        "Key": {"PK": item["PK"], "SK": item["SK"]},
        "ConditionExpression": _unchanged_version(item).render(placeholders),
        **placeholders.parameters(),
    }
    actions = [write, {"Delete": _with_table(table, delete)}]
    try:
        await table.caller.call(
            "TransactWriteItems", {"TransactItems": actions, "ClientRequestToken": uuid.uuid4().hex}
        )
    except DynamoDbError as error:
        if "ConditionalCheckFailed" in error.cancellation_reasons:
            return False
        raise error.as_keyfence_error() from error
    return True


def _with_table(table: Table, body: dict[str, Any]) -> dict[str, Any]:
    return {"TableName": table.caller.table, **body}


def _require_in_fence(table: Table, *partitions: str) -> None:
    if not all(table.fence.contains(partition) for partition in partitions):
        raise Forbidden("a job tried to write an item outside the tenant's fence; nothing was written")
