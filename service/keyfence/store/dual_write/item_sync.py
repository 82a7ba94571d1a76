"""`ItemSync`: makes an item of one table equal to the same item of another table."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from keyfence.store.codec import Item
from keyfence.store.dual_write.read_comparison import items_equal
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError

ACTIONS_PER_PAIR = 2
"""A pair needs a check of the source's item and a write to the target."""


class SyncOutcome(Enum):
    """The result of a sync."""

    EQUAL = auto()
    """Both tables had the same item already."""
    ABSENT = auto()
    """Neither table has the item."""
    COPIED = auto()
    """The target has the item of the source now."""
    CONFLICT = auto()
    """The item changed in one of the tables after it was read. Nothing was written."""


class ItemPair(NamedTuple):
    """An item as it was read from the source and from the target. None means that the table does not have it."""

    key: Item
    source_item: Item | None
    target_item: Item | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSync:
    """Makes items of the table `target` equal to the items of the table `source`.

    An item is written on the condition that its attributes, as they were read from both tables, have not changed. The
    condition cannot see that a new attribute was added, but the next comparison of the tables sees it. The caller's
    credentials must allow both tables."""

    caller: DynamoDbCaller
    source: str
    target: str

    async def sync(self, key: Item) -> SyncOutcome:
        source_item, target_item = await asyncio.gather(self._read(self.source, key), self._read(self.target, key))
        if items_equal(source_item, target_item):
            return SyncOutcome.EQUAL if source_item else SyncOutcome.ABSENT
        changed = await self.write([ItemPair(key, source_item, target_item)])
        return SyncOutcome.CONFLICT if changed else SyncOutcome.COPIED

    async def write(self, pairs: Sequence[ItemPair]) -> set[int]:
        """Writes the source's items to the target in one transaction, or none of them if an item has changed.

        Returns the positions of the pairs that have changed since they were read. The set is empty if all were
        written."""
        actions = [action for pair in pairs for action in self._actions(pair)]
        parameters = {"TransactItems": actions, "ClientRequestToken": uuid.uuid4().hex}
        try:
            await DynamoDbCaller.call(self.caller, "TransactWriteItems", parameters)
        except DynamoDbError as error:
            if "ConditionalCheckFailed" not in error.cancellation_reasons:
                raise
            return _changed_positions(error)
        return set()

    def _actions(self, pair: ItemPair) -> list[dict[str, Any]]:
        """Returns a check that the source's item is unchanged, and the Put or Delete on the target."""
        key, source_item, target_item = pair
        names = {*(source_item or ()), *(target_item or ())}
        check = {"TableName": self.source, "Key": key, **unchanged_condition(source_item, names)}
        target_parameters = {"TableName": self.target, **unchanged_condition(target_item, names)}
        if source_item:
            return [{"ConditionCheck": check}, {"Put": {"Item": source_item, **target_parameters}}]
        return [{"ConditionCheck": check}, {"Delete": {"Key": key, **target_parameters}}]

    async def _read(self, table: str, key: Item) -> Item | None:
        parameters = {"TableName": table, "Key": key, "ConsistentRead": True}
        answer = await DynamoDbCaller.call(self.caller, "GetItem", parameters)
        return answer.get("Item") or None


def _changed_positions(error: DynamoDbError) -> set[int]:
    """Returns the positions of the pairs whose conditions failed. Each pair has two actions in the transaction."""
    reasons = enumerate(error.cancellation_reasons)
    return {number // ACTIONS_PER_PAIR for number, reason in reasons if reason == "ConditionalCheckFailed"}


def unchanged_condition(item: Item | None, names: Iterable[str]) -> dict[str, Any]:
    """Returns the condition that a table has this item, or no item if `item` is None.

    Attributes of `names` that the item does not have must not exist. Other attributes may exist, because a condition
    can only exclude attributes by their names."""
    if item is None:
        return {"ConditionExpression": "attribute_not_exists(#a0)", "ExpressionAttributeNames": {"#a0": "PK"}}
    placeholders = {f"a{number}": name for number, name in enumerate(sorted({*names, *item}))}
    terms = (
        f"#{placeholder} = :{placeholder}" if name in item else f"attribute_not_exists(#{placeholder})"
        for placeholder, name in placeholders.items()
    )
    return {
        "ConditionExpression": " AND ".join(terms),
        "ExpressionAttributeNames": {f"#{placeholder}": name for placeholder, name in placeholders.items()},
        "ExpressionAttributeValues": {
            f":{placeholder}": item[name] for placeholder, name in placeholders.items() if name in item
        },
    }
