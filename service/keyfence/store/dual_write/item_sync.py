"""Makes one item equal in two tables, and compares what two tables answer."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from keyfence.store.codec import Item, Value, has_expired, item_key
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.dynamodb.flow_control import RetryPolicy

MAX_COMPARISONS = 4

ComparableAnswer = Value | None
"""An answer in a form that can be compared with another table's. None if the table could not answer."""


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


def items_equal(item: Item | None, other: Item | None) -> bool:
    """Whether two items are equal. The order of sets does not count."""
    return item == other or (bool(item and other) and canonical({"M": item}) == canonical({"M": other}))


def canonical(value: Mapping[str, Any]) -> Value:
    """Returns the value with all sets sorted. Equal values have equal canonical forms."""
    ((kind, content),) = value.items()
    if kind in {"SS", "NS", "BS"}:
        return {kind: sorted(content)}
    if kind == "M":
        return {kind: {name: canonical(part) for name, part in content.items()}}
    return {kind: [canonical(part) for part in content]} if kind == "L" else {kind: content}


def on_table(table: str, parameters: Mapping[str, Any], *, consistent: bool = False) -> dict[str, Any]:
    """Returns the parameters of the same read on another table. Indexes have no consistent reads."""
    consistency = {"ConsistentRead": True} if consistent and "IndexName" not in parameters else {}
    if "RequestItems" in parameters:
        (request,) = parameters["RequestItems"].values()
        return {**parameters, "RequestItems": {table: {**request, **consistency}}}
    if "TransactItems" in parameters:
        gets = [{"Get": {**action["Get"], "TableName": table}} for action in parameters["TransactItems"]]
        return {**parameters, "TransactItems": gets}
    return {**parameters, "TableName": table, **consistency}


def comparable_answer(answer: Answer, table: str) -> ComparableAnswer:
    """Returns the items of an answer, without expired ones: those of a list in its order, those of a batch in the order
    of their keys. Returns None for an incomplete batch."""
    if answer.get("UnprocessedKeys"):
        return None
    responses = answer.get("Responses", [])
    if isinstance(responses, dict):
        found = sorted(responses.get(table, []), key=item_key)
    elif responses:
        found = [response.get("Item") or {} for response in responses]
    else:
        found = answer.get("Items", [answer.get("Item") or {}])
    return canonical({"L": [{"M": item} for item in found if not has_expired(item)]})


async def differ_permanently(
    read_both: Callable[[], Awaitable[tuple[ComparableAnswer, ComparableAnswer]]], policy: RetryPolicy
) -> bool:
    """Reads several times. Returns whether the answers differed each time and stayed the same at last: a single
    difference can come from a write between the two reads."""
    before: tuple[ComparableAnswer, ComparableAnswer] | None = None
    is_stable = False
    for attempt in range(MAX_COMPARISONS):
        await asyncio.sleep(policy.first_pause * 2**attempt)
        answers = await read_both()
        if answers[0] == answers[1]:
            return False
        is_stable, before = answers == before, answers
    return is_stable
