"""Items by key for jobs: delete, change index keys, move between partitions."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

from keyfence.errors import Forbidden
from keyfence.store.codec import Item
from keyfence.store.dynamodb.caller import MAX_BATCH_WRITES, delete_many
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.entity import Entity
from keyfence.store.expressions import Condition, Placeholders, UpdateExpression, absent, equals
from keyfence.store.shards import ShardMap
from keyfence.store.table import Table
from keyfence.store.writes import increment


async def delete_items(table: Table, keys: Sequence[Item]) -> float:
    """What it cost in units. A key outside the table's fence keeps all of them."""
    if not all(table.fence.contains(key["PK"]["S"]) for key in keys):
        raise Forbidden("a key that is to be purged lies outside the fence")
    before = table.caller.meter.write_units
    batches = (keys[start : start + MAX_BATCH_WRITES] for start in range(0, len(keys), MAX_BATCH_WRITES))
    try:
        await asyncio.gather(*(delete_many(table.caller, batch) for batch in batches))
    except DynamoDbError as refusal:
        raise refusal.as_keyfence_error() from refusal
    return max(float(len(keys)), table.caller.meter.write_units - before)


Keys = Mapping[str, str | None]
"""Key attributes of indexes with what they should be; None where they should not be."""

FAILED = "ConditionalCheckFailedException"


async def update_index_keys(table: Table, item: Item, keys: Keys) -> bool:
    """Whether the item still was as it is given here: in its version, and in these keys.

    Its version stays, since nothing that anybody can read of it changes."""
    partitions = [item["PK"]["S"], *(value for name, value in keys.items() if value and name.endswith("PK"))]
    if not all(table.fence.contains(partition) for partition in partitions):
        raise Forbidden("a key that is to be changed lies outside the fence")
    try:
        await table.caller.call("UpdateItem", {"TableName": table.caller.table, **_update(item, keys)})
    except DynamoDbError as refusal:
        if refusal.code == FAILED:
            return False
        raise refusal.as_keyfence_error() from refusal
    return True


def _update(item: Item, keys: Keys) -> dict[str, object]:
    placeholders = Placeholders()
    change = UpdateExpression(
        sets={(name,): value for name, value in keys.items() if value is not None},
        removes=tuple((name,) for name, value in keys.items() if value is None),
    )
    unchanged = reduce(and_, (_same(item, name) for name in keys), equals("version", int(item["version"]["N"])))
    return {
        "Key": {"PK": item["PK"], "SK": item["SK"]},
        "UpdateExpression": change.render(placeholders),
        "ConditionExpression": unchanged.render(placeholders),
        **placeholders.parameters(),
    }


def _same(item: Item, name: str) -> Condition:
    return equals(name, item[name]["S"]) if name in item else absent(name)


MOVE_FAILED = "ConditionalCheckFailed"


async def move_item(table: Table, item: Item, partition: str) -> bool:
    """Into another partition under the same sort key; False where the item is not as given any more."""
    there = Placeholders()
    body = {"Item": {**item, "PK": {"S": partition}}, "ConditionExpression": absent().render(there)}
    return await _leave(table, item, partition, {"Put": _in(table, body | there.parameters())})


async def add_and_delete(
    table: Table, item: Item, partition: str, entity: Entity[Any], field: str, shards: ShardMap
) -> bool:
    """The same for a part of a number, which is added to the part that is there."""
    part = entity.from_item(item)
    added = increment(entity, part, field, getattr(part, field)).render(table.caller.table, table.fence, shards)
    return await _leave(table, item, partition, added)


async def _leave(table: Table, item: Item, partition: str, arrival: dict[str, Any]) -> bool:
    if not (table.fence.contains(partition) and table.fence.contains(item["PK"]["S"])):
        raise Forbidden("an item that is to be moved lies outside the fence")
    members = [arrival, {"Delete": _in(table, _unless_changed(item))}]
    asked = {"TransactItems": members, "ClientRequestToken": uuid.uuid4().hex}
    try:
        await table.caller.call("TransactWriteItems", asked)
    except DynamoDbError as refusal:
        if MOVE_FAILED in refusal.cancellation_reasons:
            return False
        raise refusal.as_keyfence_error() from refusal
    return True


def _in(table: Table, body: dict[str, Any]) -> dict[str, Any]:
    return {"TableName": table.caller.table, **body}


def _unless_changed(item: Item) -> dict[str, Any]:
    here = Placeholders()
    unchanged = equals("version", int(item["version"]["N"])).render(here)
    return {
        "Key": {"PK": item["PK"], "SK": item["SK"]},
        "ConditionExpression": unchanged,
        **here.parameters(),
    }
