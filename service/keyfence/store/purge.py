"""Deletion of items by their keys alone, whatever they are."""

import asyncio
from collections.abc import Sequence

from keyfence.errors import Forbidden
from keyfence.store.batch import WRITES, delete_many
from keyfence.store.codec import Item
from keyfence.store.dynamodb.errors import Refused
from keyfence.store.table import Table


async def purge(table: Table, keys: Sequence[Item]) -> float:
    """What it cost in units. A key outside the table's fence keeps all of them."""
    if not all(table.fence.holds(key["PK"]["S"]) for key in keys):
        raise Forbidden("a key that is to be purged lies outside the fence")
    before = table.caller.meter.write_units
    batches = (keys[start : start + WRITES] for start in range(0, len(keys), WRITES))
    try:
        await asyncio.gather(*(delete_many(table.caller, batch) for batch in batches))
    except Refused as refusal:
        raise refusal.error() from refusal
    return max(float(len(keys)), table.caller.meter.write_units - before)
