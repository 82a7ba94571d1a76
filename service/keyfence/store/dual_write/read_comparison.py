"""Compares what two tables answer to the same read."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from keyfence.store.codec import AttributeValue, Item, has_expired, item_key
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.retry_policy import RetryPolicy

MAX_COMPARISONS = 4

ComparableAnswer = AttributeValue | None
"""An answer in a form that can be compared with another table's. None if the table could not answer."""


def items_equal(item: Item | None, other: Item | None) -> bool:
    """Whether two items are equal. The order of sets does not count."""
    return item == other or (bool(item and other) and canonical({"M": item}) == canonical({"M": other}))


def canonical(value: Mapping[str, Any]) -> AttributeValue:
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
        await asyncio.sleep(policy.first_pause_seconds * 2**attempt)
        answers = await read_both()
        if answers[0] == answers[1]:
            return False
        is_stable, before = answers == before, answers
    return is_stable
