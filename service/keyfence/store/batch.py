"""Batches of reads, puts and deletes of any size: chunked, and what DynamoDB left over asked for again."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from keyfence.store.calls import Caller
from keyfence.store.codec import Item
from keyfence.store.dynamodb.errors import Refused

T = TypeVar("T")
GETS = 100
WRITES = 25


async def get_many(caller: Caller, keys: Sequence[Item], *, consistent: bool) -> list[Item]:
    """The items that exist among these distinct keys, in no particular order."""
    chunks = await asyncio.gather(*(_get(caller, chunk, consistent) for chunk in _chunks(keys, GETS)))
    return [item for chunk in chunks for item in chunk]


async def get_together(caller: Caller, keys: Sequence[Item]) -> list[Item]:
    """The items that exist among these distinct keys, all of them as they were at one moment."""
    gets = [{"Get": {"TableName": caller.table, "Key": key}} for key in keys]
    answer = await caller.call("TransactGetItems", {"TransactItems": gets})
    return [one["Item"] for one in answer["Responses"] if one.get("Item")]


async def delete_many(caller: Caller, keys: Sequence[Item]) -> None:
    for chunk in _chunks(keys, WRITES):
        await _drain(caller, "BatchWriteItem", [{"DeleteRequest": {"Key": key}} for key in chunk])


async def put_many(caller: Caller, items: Sequence[Item]) -> None:
    for chunk in _chunks(items, WRITES):
        await _drain(caller, "BatchWriteItem", [{"PutRequest": {"Item": item}} for item in chunk])


async def _get(caller: Caller, keys: Sequence[Item], consistent: bool) -> list[Item]:
    return await _drain(caller, "BatchGetItem", {"Keys": list(keys), "ConsistentRead": consistent})


async def _drain(caller: Caller, operation: str, wanted: Any) -> list[Item]:
    """Ask until nothing is left over; each round must fit the caller's patience."""
    items: list[Item] = []
    for attempt in range(caller.patience.attempts):
        answer = await caller.call(operation, {"RequestItems": {caller.table: wanted}}, again=attempt > 0)
        items += answer.get("Responses", {}).get(caller.table, [])
        left = answer.get("UnprocessedKeys") or answer.get("UnprocessedItems") or {}
        if not left:
            return items
        wanted = left[caller.table]
        await asyncio.sleep(caller.patience.pause(attempt))
    raise Refused("ProvisionedThroughputExceededException", f"{operation} still had work left over")


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
