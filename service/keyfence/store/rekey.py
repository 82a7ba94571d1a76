"""The change of an item's index keys, which leaves all else of it as it is."""

from collections.abc import Mapping
from functools import reduce
from operator import and_

from keyfence.errors import Forbidden
from keyfence.store.codec import Item
from keyfence.store.dynamodb.errors import Refused
from keyfence.store.expressions import Change, Condition, Placeholders, absent, equals
from keyfence.store.table import Table

Keys = Mapping[str, str | None]
"""Key attributes of indexes with what they should be; None where they should not be."""

FAILED = "ConditionalCheckFailedException"


async def rekey(table: Table, item: Item, keys: Keys) -> bool:
    """Whether the item still was as it is given here: in its version, and in these keys.

    Its version stays, since nothing that anybody can read of it changes."""
    partitions = [item["PK"]["S"], *(value for name, value in keys.items() if value and name.endswith("PK"))]
    if not all(table.fence.holds(partition) for partition in partitions):
        raise Forbidden("a key that is to be changed lies outside the fence")
    try:
        await table.caller.call("UpdateItem", {"TableName": table.caller.table, **_update(item, keys)})
    except Refused as refusal:
        if refusal.code == FAILED:
            return False
        raise refusal.error() from refusal
    return True


def _update(item: Item, keys: Keys) -> dict[str, object]:
    placeholders = Placeholders()
    change = Change(
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
