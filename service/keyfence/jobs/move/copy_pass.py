"""Copies and compares pages of items between the two tables of a moving tenant."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from keyfence.errors import Internal
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import item_digest
from keyfence.store.codec import Item, has_expired, item_key
from keyfence.store.dual_write.item_sync import ItemPair, ItemSync, SyncOutcome
from keyfence.store.dual_write.read_comparison import items_equal
from keyfence.store.dynamodb.batches import get_many
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.table import Table
from keyfence_iam.dynamodb.item_size import stored_size

CONCURRENT_TRANSACTIONS = 8
ITEMS_PER_TRANSACTION = 25
"""Each item takes two of the 100 members. A larger transaction would conflict more often with other writers."""
MAX_TRANSACTION_BYTES = 1_000_000
"""Far below the 4 MB that DynamoDB allows."""
MAX_ATTEMPTS = 10
"""How often an item that other writers change is tried before it is left to the next round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPass:
    """Makes the target equal to the source. The credentials of `table` reach both tables."""

    table: Table
    source: str
    target: str

    async def copy(self, items: Sequence[Item]) -> PassResult:
        """Takes a page of the source, and writes to the target what it lacks or has otherwise."""
        return await self._write(await self._missing_in_target(items))

    async def clear(self, items: Sequence[Item]) -> PassResult:
        """Takes a page of the target, and deletes what the source does not have."""
        return await self._write(await self._extra_in_target(items))

    async def compare(self, items: Sequence[Item]) -> PassResult:
        return await self._count_differing(items, await self._missing_in_target(items))

    async def compare_back(self, items: Sequence[Item]) -> PassResult:
        return await self._count_differing(items, await self._extra_in_target(items))

    async def _missing_in_target(self, items: Sequence[Item]) -> list[ItemPair]:
        found = await self._read_other(items, self.target)
        return [ItemPair(_key(one), one, other) for one, other in found if _differs(one, other)]

    async def _extra_in_target(self, items: Sequence[Item]) -> list[ItemPair]:
        found = await self._read_other(items, self.source)
        return [ItemPair(_key(one), other, one) for one, other in found if _differs(one, other)]

    async def _read_other(self, items: Sequence[Item], at: str) -> list[tuple[Item, Item | None]]:
        keys = [_key(item) for item in items]
        found = {item_key(one): one for one in await get_many(replace(self._caller, table=at), keys, consistent=True)}
        return [(item, found.get(item_key(item))) for item in items]

    async def _write(self, pairs: Sequence[ItemPair]) -> PassResult:
        before, limit = self._caller.meter.write_units, asyncio.Semaphore(CONCURRENT_TRANSACTIONS)
        made = await asyncio.gather(*(self._write_group(some, limit) for some in _groups(pairs)))
        units = max(float(len(pairs)), self._caller.meter.write_units - before)
        digest = sum(item_digest(pair.source_item) for pair in pairs if pair.source_item)
        return PassResult(changed=sum(made), digest=digest, units=units if pairs else 0.0)

    async def _write_group(self, pairs: Sequence[ItemPair], limit: asyncio.Semaphore) -> int:
        """Writes the pairs in one transaction, or one by one if another writer interferes. Returns their number."""
        sync = ItemSync(caller=self._caller, source=self.source, target=self.target)
        async with limit:
            try:
                if await sync.write(pairs) is SyncOutcome.COPIED:
                    return len(pairs)
                return sum([await _write_one(sync, pair) for pair in pairs])
            except DynamoDbError as refusal:
                raise refusal.as_keyfence_error() from refusal

    async def _count_differing(self, items: Sequence[Item], pairs: Sequence[ItemPair]) -> PassResult:
        wrong = [pair for pair in pairs if not await self._is_equal_now(pair.key)]
        return PassResult(wrong=len(wrong), digest=sum(map(item_digest, items)), counts={"compared": len(items)})

    async def _is_equal_now(self, key: Item) -> bool:
        """Reads both in one transaction: two separate reads of an item that is often written would differ."""
        gets = [{"Get": {"TableName": at, "Key": key}} for at in (self.source, self.target)]
        try:
            answer = await self._caller.call("TransactGetItems", {"TransactItems": gets})
        except DynamoDbError as refusal:
            raise refusal.as_keyfence_error() from refusal
        one, other = [said.get("Item") or None for said in answer["Responses"]]
        return items_equal(one, other)

    @property
    def _caller(self) -> DynamoDbCaller:
        caller = self.table.caller
        if type(caller) is not DynamoDbCaller:
            raise Internal("a copy needs a handle that calls one table at a time")
        return caller


async def _write_one(sync: ItemSync, pair: ItemPair) -> bool:
    """Returns whether the item was written. An item that changes all the time is left to the next round."""
    for _ in range(MAX_ATTEMPTS):
        outcome = await sync.sync(pair.key)
        if outcome is not SyncOutcome.CONFLICT:
            return outcome is SyncOutcome.COPIED
    return False


def _groups(pairs: Sequence[ItemPair]) -> Iterator[list[ItemPair]]:
    """Splits pairs into groups that fit into one transaction, in their order."""
    some, size = list[ItemPair](), 0
    for pair in pairs:
        weight = sum(stored_size(item) for item in (pair.source_item, pair.target_item) if item)
        if some and (len(some) == ITEMS_PER_TRANSACTION or size + weight > MAX_TRANSACTION_BYTES):
            yield some
            some, size = [], 0
        some.append(pair)
        size += weight
    if some:
        yield some


def _differs(one: Item, other: Item | None) -> bool:
    """Ignores an expired item: DynamoDB may have deleted it from one table and not yet from the other."""
    return not has_expired(one) and not items_equal(one, other)


def _key(item: Item) -> Item:
    return {"PK": item["PK"], "SK": item["SK"]}
