"""Compares the items and answers of two tables, while a tenant moves from one table to the other."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from keyfence.store.codec import AttributeValue, Item, has_expired, item_key
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.retry_policy import RetryPolicy

MAX_COMPARISONS = 4
"""How often two different answers are read again before the difference counts as permanent."""

ComparableAnswer = AttributeValue | None
"""The items of an answer, in a form that is equal for equal items. None if the table could not answer completely."""


def items_equal(first: Item | None, second: Item | None) -> bool:
    """Whether two items are equal. The order of a set's elements does not matter."""
    if first == second:
        return True
    if not first or not second:
        return False
    return with_sorted_sets({"M": first}) == with_sorted_sets({"M": second})


def with_sorted_sets(value: Mapping[str, Any]) -> AttributeValue:
    """Returns an attribute value with all of its sets sorted, because DynamoDB returns sets in any order."""
    ((data_type, content),) = value.items()
    match data_type:
        case "SS" | "NS" | "BS":
            return {data_type: sorted(content)}
        case "M":
            return {data_type: {name: with_sorted_sets(element) for name, element in content.items()}}
        case "L":
            return {data_type: [with_sorted_sets(element) for element in content]}
    return {data_type: content}


def parameters_for_table(table: str, parameters: Mapping[str, Any], *, consistent: bool = False) -> dict[str, Any]:
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
    """Returns the items of an answer, except expired items: DynamoDB deletes them from the two tables at different
    times.

    The items of a batch are sorted by key, because a batch has no order. Returns None for an incomplete batch."""
    if answer.get("UnprocessedKeys"):
        return None
    responses = answer.get("Responses", [])
    if isinstance(responses, dict):  # BatchGetItem
        items = sorted(responses.get(table, []), key=item_key)
    elif responses:  # TransactGetItems
        items = [response.get("Item") or {} for response in responses]
    else:  # Query or GetItem
        items = answer.get("Items", [answer.get("Item") or {}])
    return with_sorted_sets({"L": [{"M": item} for item in items if not has_expired(item)]})


async def differ_permanently(
    read_both: Callable[[], Awaitable[tuple[ComparableAnswer, ComparableAnswer]]], retry_policy: RetryPolicy
) -> bool:
    """Reads both tables several times. Returns False as soon as their answers are equal.

    Returns True only if the last two reads gave the same two different answers. Otherwise writes between the reads may
    be the reason for the difference."""
    previous_answers: tuple[ComparableAnswer, ComparableAnswer] | None = None
    is_stable = False
    for attempt in range(MAX_COMPARISONS):
        await asyncio.sleep(retry_policy.first_pause_seconds * 2**attempt)
        answers = await read_both()
        if answers[0] == answers[1]:
            return False
        is_stable = answers == previous_answers
        previous_answers = answers
    return is_stable
