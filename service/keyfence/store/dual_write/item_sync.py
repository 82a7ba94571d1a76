"""Makes one item equal in two tables."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from keyfence.store.codec import Item
from keyfence.store.dual_write.read_comparison import items_equal
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError


class SyncOutcome(Enum):
    """The result of `ItemSync`. CONFLICT: an item changed meanwhile, and nothing was written."""

    EQUAL = auto()
    ABSENT = auto()
    COPIED = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSync:
    """Makes items of the target table equal to those of the source table.

    The caller's credentials must reach both tables. An item that gets one of `attributes` meanwhile counts as changed;
    all attributes that it has already are checked anyway."""

    caller: DynamoDbCaller
    source: str
    target: str
    attributes: frozenset[str] = frozenset()

    async def sync(self, key: Item) -> SyncOutcome:
        original, copy = await asyncio.gather(self._read(self.source, key), self._read(self.target, key))
        if items_equal(original, copy):
            return SyncOutcome.EQUAL if original else SyncOutcome.ABSENT
        return await self.write(key, original, copy)

    async def write(self, key: Item, original: Item | None, copy: Item | None) -> SyncOutcome:
        """Writes the original to the target, if the source still has it and the target still has the copy. None stands
        for no item."""
        return await self.write_all([(key, original, copy)])

    async def write_all(self, items: Sequence[tuple[Item, Item | None, Item | None]]) -> SyncOutcome:
        """Writes several items (key, original, copy) in one transaction: all of them, or none if one has changed."""
        actions = [action for item in items for action in self._actions(*item)]
        parameters = {"TransactItems": actions, "ClientRequestToken": uuid.uuid4().hex}
        try:
            await DynamoDbCaller.call(self.caller, "TransactWriteItems", parameters)
        except DynamoDbError as error:
            if "ConditionalCheckFailed" not in error.cancellation_reasons:
                raise
            return SyncOutcome.CONFLICT
        return SyncOutcome.COPIED

    def _actions(self, key: Item, original: Item | None, copy: Item | None) -> list[dict[str, Any]]:
        names = self.attributes.union(original or (), copy or ())
        check = {"TableName": self.source, "Key": key, **unchanged_condition(original, names)}
        target = {"TableName": self.target, **unchanged_condition(copy, names)}
        write = {"Put": {"Item": original, **target}} if original else {"Delete": {"Key": key, **target}}
        return [{"ConditionCheck": check}, write]

    async def _read(self, table: str, key: Item) -> Item | None:
        parameters = {"TableName": table, "Key": key, "ConsistentRead": True}
        item: Item | None = (await DynamoDbCaller.call(self.caller, "GetItem", parameters)).get("Item")
        return item or None


def unchanged_condition(item: Item | None, names: Iterable[str]) -> dict[str, Any]:
    """Returns the condition that a table has exactly this item, without other attributes of these names. For None: that
    it has no item."""
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
