"""Calls for any number of items: batches of DynamoDB's maximum size, with retries of unprocessed requests."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from keyfence.store.codec import Item
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError

MAX_BATCH_GETS = 100
MAX_BATCH_WRITES = 25

T = TypeVar("T")


async def get_many(caller: DynamoDbCaller, keys: Sequence[Item], *, consistent: bool) -> list[Item]:
    """Returns the items that exist among these distinct keys, in no particular order."""

    async def get(batch: Sequence[Item]) -> list[Item]:
        return await _call_batch(caller, "BatchGetItem", {"Keys": list(batch), "ConsistentRead": consistent})

    batches = await asyncio.gather(*(get(batch) for batch in chunks(keys, MAX_BATCH_GETS)))
    return [item for batch in batches for item in batch]


async def transact_get(caller: DynamoDbCaller, keys: Sequence[Item]) -> list[Item]:
    """Returns the items that exist among these distinct keys, all of them as they were at one moment."""
    gets = [{"Get": {"TableName": caller.table, "Key": key}} for key in keys]
    answer = await caller.call("TransactGetItems", {"TransactItems": gets})
    return [response["Item"] for response in answer["Responses"] if response.get("Item")]


async def delete_many(caller: DynamoDbCaller, keys: Sequence[Item]) -> None:
    for batch in chunks(keys, MAX_BATCH_WRITES):
        await _call_batch(caller, "BatchWriteItem", [{"DeleteRequest": {"Key": key}} for key in batch])


async def put_many(caller: DynamoDbCaller, items: Sequence[Item]) -> None:
    for batch in chunks(items, MAX_BATCH_WRITES):
        await _call_batch(caller, "BatchWriteItem", [{"PutRequest": {"Item": item}} for item in batch])


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Splits a sequence into parts of this size. The last part may be smaller."""
    return (items[start : start + size] for start in range(0, len(items), size))


async def _call_batch(caller: DynamoDbCaller, operation: str, requests: Any) -> list[Item]:
    """Makes a batch call and repeats it for unprocessed requests, as often as the retry policy allows."""
    items: list[Item] = []
    for attempt in range(caller.retry_policy.attempts):
        answer = await caller.call(operation, {"RequestItems": {caller.table: requests}}, is_retry=attempt > 0)
        items += answer.get("Responses", {}).get(caller.table, [])
        unprocessed = answer.get("UnprocessedKeys") or answer.get("UnprocessedItems") or {}
        if not unprocessed:
            return items
        requests = unprocessed[caller.table]
        await asyncio.sleep(caller.retry_policy.backoff(attempt))
    raise DynamoDbError("ProvisionedThroughputExceededException", f"{operation} left requests unprocessed")
