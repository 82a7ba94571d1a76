"""Moves of items whose own key has the slot: there and gone in one transaction."""

import uuid
from typing import Any

from keyfence.errors import Forbidden
from keyfence.store.codec import Item
from keyfence.store.dynamodb.errors import Refused
from keyfence.store.entity import Entity
from keyfence.store.expressions import Placeholders, absent, equals
from keyfence.store.shards import ShardMap
from keyfence.store.table import Table
from keyfence.store.write import tally

FAILED = "ConditionalCheckFailed"


async def relocate(table: Table, item: Item, partition: str) -> bool:
    """Into another partition under the same sort key; False where the item is not as given any more."""
    there = Placeholders()
    body = {"Item": {**item, "PK": {"S": partition}}, "ConditionExpression": absent().render(there)}
    return await _leave(table, item, partition, {"Put": _in(table, body | there.parameters())})


async def fold(table: Table, item: Item, partition: str, entity: Entity[Any], field: str, shards: ShardMap) -> bool:
    """The same for a part of a number, which is added to the part that is there."""
    part = entity.read(item)
    added = tally(entity, part, field, getattr(part, field)).render(table.caller.table, table.fence, shards)
    return await _leave(table, item, partition, added)


async def _leave(table: Table, item: Item, partition: str, arrival: dict[str, Any]) -> bool:
    if not (table.fence.holds(partition) and table.fence.holds(item["PK"]["S"])):
        raise Forbidden("an item that is to be moved lies outside the fence")
    members = [arrival, {"Delete": _in(table, _unless_changed(item))}]
    asked = {"TransactItems": members, "ClientRequestToken": uuid.uuid4().hex}
    try:
        await table.caller.call("TransactWriteItems", asked)
    except Refused as refusal:
        if FAILED in refusal.reasons:
            return False
        raise refusal.error() from refusal
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
