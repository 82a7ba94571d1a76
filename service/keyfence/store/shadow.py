"""The same read on two tables, and whether what they say differs for good."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from keyfence.store.calls import Patience
from keyfence.store.codec import Item, Value
from keyfence.store.dynamodb.client import Answer
from keyfence.store.expiry import has_expired
from keyfence.store.likeness import canonical

ROUNDS = 4

Said = Value | None
"""What a table says of what was asked, None where it could not say."""


def asked_of(table: str, parameters: Mapping[str, Any], *, surely: bool = False) -> dict[str, Any]:
    """The same question to this table, and `surely` for what is there now, which indexes cannot tell."""
    now = {"ConsistentRead": True} if surely and "IndexName" not in parameters else {}
    if "RequestItems" in parameters:
        (wanted,) = parameters["RequestItems"].values()
        return {**parameters, "RequestItems": {table: {**wanted, **now}}}
    if "TransactItems" in parameters:
        gets = [{"Get": {**member["Get"], "TableName": table}} for member in parameters["TransactItems"]]
        return {**parameters, "TransactItems": gets}
    return {**parameters, "TableName": table, **now}


def said(answer: Answer, table: str) -> Said:
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


async def differ(look: Callable[[], Awaitable[tuple[Said, Said]]], patience: Patience) -> bool:
    """Whether both say what they said before, and not the same: a write may have come between two reads."""
    before: tuple[Said, Said] | None = None
    lasting = False
    for attempt in range(ROUNDS):
        await asyncio.sleep(patience.first_pause * 2**attempt)
        one, other = await look()
        if one == other:
            return False
        lasting, before = (one, other) == before, (one, other)
    return lasting


def _address(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
