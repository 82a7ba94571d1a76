"""Reads and writes of any number of items, in batches of DynamoDB's maximum size.

DynamoDB may leave requests of a batch unprocessed (UnprocessedKeys, UnprocessedItems). They are sent again.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from keyfence.store.codec import Item
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError

MAX_BATCH_GETS = 100
"""DynamoDB's limit for the keys of one BatchGetItem."""
MAX_BATCH_WRITES = 25
"""DynamoDB's limit for the requests of one BatchWriteItem."""

T = TypeVar("T")


async def get_many(caller: DynamoDbCaller, keys: Sequence[Item], *, consistent: bool) -> list[Item]:
    """Returns the items that exist under these keys, in any order. The keys must be distinct."""

    async def get(batch: Sequence[Item]) -> list[Item]:
        return await _call_batch(caller, "BatchGetItem", {"Keys": list(batch), "ConsistentRead": consistent})

    batches = await asyncio.gather(*(get(batch) for batch in chunks(keys, MAX_BATCH_GETS)))
    return [item for batch in batches for item in batch]


async def transact_get(caller: DynamoDbCaller, keys: Sequence[Item]) -> list[Item]:
    """Returns the items that exist under these keys, all from the same moment. The keys must be distinct."""
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
    """Splits a sequence into parts of `size` items. The last part may be smaller."""
    return (items[start : start + size] for start in range(0, len(items), size))


async def _call_batch(caller: DynamoDbCaller, operation: str, requests: Any) -> list[Item]:
    """Makes a batch call and sends unprocessed requests again. Returns the items of all answers.

    `requests` is the content of RequestItems for one table: a mapping for BatchGetItem, a list for BatchWriteItem.
    Raises DynamoDbError if requests are still unprocessed after all attempts of the retry policy."""
    items: list[Item] = []
    for attempt in range(caller.retry_policy.attempts):
        answer = await caller.call(operation, {"RequestItems": {caller.table: requests}}, is_retry=attempt > 0)
        items += answer.get("Responses", {}).get(caller.table, [])
        unprocessed = answer.get("UnprocessedKeys") or answer.get("UnprocessedItems") or {}
        if not unprocessed:
            return items
        requests = unprocessed[caller.table]
        if not caller.retry_policy.is_last(attempt):
            await asyncio.sleep(caller.retry_policy.backoff_seconds(attempt))
    raise DynamoDbError("ProvisionedThroughputExceededException", f"{operation} left requests unprocessed")
