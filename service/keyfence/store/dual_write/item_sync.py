"""Make one item equal in both tables; compare reads."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from keyfence.store.codec import Item, Value, has_expired
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.dynamodb.flow_control import RetryPolicy


class SyncOutcome(Enum):
    """What came of it. CHANGED: somebody was faster, and what is there now has to be looked at again."""

    EQUAL = auto()
    ABSENT = auto()
    COPIED = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSync:
    """By a caller whose credentials reach both tables.

    `attributes` are names that items may get besides those that they have: an item that got one has changed."""

    caller: DynamoDbCaller
    source: str
    target: str
    attributes: frozenset[str] = frozenset()

    async def sync(self, key: Item) -> SyncOutcome:
        model, copy = await asyncio.gather(self._read(self.source, key), self._read(self.target, key))
        if items_equal(model, copy):
            return SyncOutcome.EQUAL if model else SyncOutcome.ABSENT
        return await self.write(key, model, copy)

    async def write(self, key: Item, model: Item | None, copy: Item | None) -> SyncOutcome:
        """Where the source still has the model and the target the copy, None standing for nothing."""
        return await self.write_all([(key, model, copy)])

    async def write_all(self, pairs: Sequence[tuple[Item, Item | None, Item | None]]) -> SyncOutcome:
        """All of them or none: CHANGED where somebody was faster with one."""
        members = [member for pair in pairs for member in self._members(*pair)]
        asked = {"TransactItems": members, "ClientRequestToken": uuid.uuid4().hex}
        try:
            await DynamoDbCaller.call(self.caller, "TransactWriteItems", asked)
        except DynamoDbError as refusal:
            if "ConditionalCheckFailed" not in refusal.cancellation_reasons:
                raise
            return SyncOutcome.CONFLICT
        return SyncOutcome.COPIED

    def _members(self, key: Item, model: Item | None, copy: Item | None) -> list[dict[str, Any]]:
        names = self.attributes.union(model or (), copy or ())
        checked = {"ConditionCheck": {"TableName": self.source, "Key": key, **unchanged_condition(model, names)}}
        written = {"Put": {"Item": model}} if model else {"Delete": {"Key": key}}
        ((verb, subject),) = written.items()
        return [checked, {verb: {"TableName": self.target, **subject, **unchanged_condition(copy, names)}}]

    async def _read(self, table: str, key: Item) -> Item | None:
        asked = {"TableName": table, "Key": key, "ConsistentRead": True}
        item: Item | None = (await DynamoDbCaller.call(self.caller, "GetItem", asked)).get("Item")
        return item or None


def unchanged_condition(item: Item | None, names: Iterable[str]) -> dict[str, Any]:
    """The condition that a table has this item, with none of these names besides its own; or that it has none."""
    if item is None:
        return {"ConditionExpression": "attribute_not_exists(#a0)", "ExpressionAttributeNames": {"#a0": "PK"}}
    placed = {f"a{at}": name for at, name in enumerate(sorted({*names, *item}))}
    terms = (f"#{one} = :{one}" if name in item else f"attribute_not_exists(#{one})" for one, name in placed.items())
    return {
        "ConditionExpression": " AND ".join(terms),
        "ExpressionAttributeNames": {f"#{one}": name for one, name in placed.items()},
        "ExpressionAttributeValues": {f":{one}": item[name] for one, name in placed.items() if name in item},
    }


def items_equal(one: Item | None, other: Item | None) -> bool:
    """Sets have no order."""
    return one == other or (bool(one and other) and canonical({"M": one}) == canonical({"M": other}))


def canonical(value: Mapping[str, Any]) -> Value:
    ((kind, content),) = value.items()
    if kind in {"SS", "NS", "BS"}:
        return {kind: sorted(content)}
    if kind == "M":
        return {kind: {name: canonical(part) for name, part in content.items()}}
    return {kind: [canonical(part) for part in content]} if kind == "L" else {kind: content}


MAX_COMPARISONS = 4

ComparableAnswer = Value | None
"""What a table says of what was asked, None where it could not say."""


def on_table(table: str, parameters: Mapping[str, Any], *, consistent: bool = False) -> dict[str, Any]:
    """The same question to this table, and `surely` for what is there now, which indexes cannot tell."""
    now = {"ConsistentRead": True} if consistent and "IndexName" not in parameters else {}
    if "RequestItems" in parameters:
        (wanted,) = parameters["RequestItems"].values()
        return {**parameters, "RequestItems": {table: {**wanted, **now}}}
    if "TransactItems" in parameters:
        gets = [{"Get": {**member["Get"], "TableName": table}} for member in parameters["TransactItems"]]
        return {**parameters, "TransactItems": gets}
    return {**parameters, "TableName": table, **now}


def comparable_answer(answer: Answer, table: str) -> ComparableAnswer:
    """What can be compared: a list in its order, a batch in that of its keys. Half a batch says nothing, and what
    has expired nobody should have been told."""
    if answer.get("UnprocessedKeys"):
        return None
    responses = answer.get("Responses", [])
    if isinstance(responses, dict):
        found = sorted(responses.get(table, []), key=_address)
    else:
        found = [one.get("Item") or {} for one in responses] or answer.get("Items", [answer.get("Item") or {}])
    return canonical({"L": [{"M": item} for item in found if not has_expired(item)]})


async def differ_permanently(
    look: Callable[[], Awaitable[tuple[ComparableAnswer, ComparableAnswer]]], patience: RetryPolicy
) -> bool:
    """Whether both say what they said before, and not the same: a write may have come between two reads."""
    before: tuple[ComparableAnswer, ComparableAnswer] | None = None
    lasting = False
    for attempt in range(MAX_COMPARISONS):
        await asyncio.sleep(patience.first_pause * 2**attempt)
        one, other = await look()
        if one == other:
            return False
        lasting, before = (one, other) == before, (one, other)
    return lasting


def _address(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
