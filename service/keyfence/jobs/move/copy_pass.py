"""`CopyPass`: copies and compares pages of items between the two tables of a tenant that is being moved."""

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

CONCURRENT_CALLS = 8
"""How many transactions of one page are sent at the same time."""
ITEMS_PER_TRANSACTION = 25
"""How many items one transaction copies. Each takes two of the 100 actions that DynamoDB allows. Transactions with more
items would conflict more often with other writers."""
MAX_TRANSACTION_BYTES = 1_000_000
"""DynamoDB allows 4 MB. Smaller transactions conflict less often with other writers."""
MAX_ATTEMPTS = 10
"""How often the copy of an item is tried while other writers change the item. After that, the next round copies it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPass:
    """Makes the target table equal to the source table."""

    table: Table
    """A handle whose credentials reach both tables."""
    source: str
    """The name of the source table."""
    target: str
    """The name of the target table."""

    async def copy(self, items: Sequence[Item]) -> PassResult:
        """Takes a page of the source. Writes to the target the items that are missing or different there."""
        page = self._for_one_page()
        return await page._write(await page._differing_source_items(items))

    async def clear(self, items: Sequence[Item]) -> PassResult:
        """Takes a page of the target. Deletes the items that the source does not have, and replaces those that differ
        from the source."""
        page = self._for_one_page()
        return await page._write(await page._differing_target_items(items))

    async def compare(self, items: Sequence[Item]) -> PassResult:
        """Takes a page of the source. Counts the items that are missing or different in the target."""
        page = self._for_one_page()
        return await page._count_differing(items, await page._differing_source_items(items))

    async def compare_back(self, items: Sequence[Item]) -> PassResult:
        """Takes a page of the target. Counts the items that are missing or different in the source."""
        page = self._for_one_page()
        return await page._count_differing(items, await page._differing_target_items(items))

    def _for_one_page(self) -> "CopyPass":
        """Returns a pass whose meter counts one page only. Pages of other segments are processed at the same time."""
        return replace(self, table=self.table.with_own_meter())

    async def _differing_source_items(self, items: Sequence[Item]) -> list[ItemPair]:
        pairs = await self._with_counterparts(items, self.target)
        return [ItemPair(_key(source), source, target) for source, target in pairs if _differs(source, target)]

    async def _differing_target_items(self, items: Sequence[Item]) -> list[ItemPair]:
        pairs = await self._with_counterparts(items, self.source)
        return [ItemPair(_key(target), source, target) for target, source in pairs if _differs(target, source)]

    async def _with_counterparts(self, items: Sequence[Item], other_table: str) -> list[tuple[Item, Item | None]]:
        """Returns each item with the item that the other table has for its key, or None."""
        keys = [_key(item) for item in items]
        others = await get_many(replace(self._caller, table=other_table), keys, consistent=True)
        other_by_key = {item_key(other): other for other in others}
        return [(item, other_by_key.get(item_key(item))) for item in items]

    async def _write(self, pairs: Sequence[ItemPair]) -> PassResult:
        limit = asyncio.Semaphore(CONCURRENT_CALLS)
        written_counts = await asyncio.gather(*(self._write_group(group, limit) for group in _groups(pairs)))
        digest = sum(item_digest(pair.source_item) for pair in pairs if pair.source_item)
        return PassResult(changed=sum(written_counts), digest=digest, units=self._units(len(pairs)))

    async def _write_group(self, pairs: Sequence[ItemPair], limit: asyncio.Semaphore) -> int:
        """Writes the pairs in one transaction. Returns the number of written items.

        If other writers have changed some items, the transaction is repeated without these items. The changed items are
        then read again and written one by one."""
        sync = ItemSync(caller=self._caller, source=self.source, target=self.target)
        unchanged, changed = list(pairs), list[ItemPair]()
        async with limit:
            try:
                while unchanged and (positions := await sync.write(unchanged)):
                    changed += [unchanged[position] for position in positions]
                    unchanged = [pair for number, pair in enumerate(unchanged) if number not in positions]
                return len(unchanged) + sum([await _write_one(sync, pair) for pair in changed])
            except DynamoDbError as error:
                raise error.as_keyfence_error() from error

    async def _count_differing(self, items: Sequence[Item], pairs: Sequence[ItemPair]) -> PassResult:
        """Counts the pairs that still differ when both items are read at the same time."""
        limit = asyncio.Semaphore(CONCURRENT_CALLS)
        equal = await asyncio.gather(*(self._is_equal_now(pair.key, limit) for pair in pairs))
        return PassResult(
            wrong=equal.count(False),
            digest=sum(map(item_digest, items)),
            counts={"compared": len(items)},
            units=self._units(len(items)),
        )

    def _units(self, minimum: int) -> float:
        """Returns the consumed units of this page. If the engine reports none, each item counts as one unit."""
        return self._caller.meter.total_units or float(minimum)

    async def _is_equal_now(self, key: Item, limit: asyncio.Semaphore) -> bool:
        """Reads both items in one transaction. Two separate reads of an item that is often written would differ."""
        gets = [{"Get": {"TableName": table, "Key": key}} for table in (self.source, self.target)]
        async with limit:
            try:
                answer = await self._caller.call("TransactGetItems", {"TransactItems": gets})
            except DynamoDbError as error:
                raise error.as_keyfence_error() from error
        source, target = [response.get("Item") or None for response in answer["Responses"]]
        return items_equal(source, target)

    @property
    def _caller(self) -> DynamoDbCaller:
        caller = self.table.caller
        if type(caller) is not DynamoDbCaller:
            raise Internal("a copy needs a table handle that calls one table at a time, not one for dual writes")
        return caller


async def _write_one(sync: ItemSync, pair: ItemPair) -> bool:
    """Returns whether the item was written. If other writers change it all the time, the next round writes it."""
    for _ in range(MAX_ATTEMPTS):
        outcome = await sync.sync(pair.key)
        if outcome is not SyncOutcome.CONFLICT:
            return outcome is SyncOutcome.COPIED
    return False


def _groups(pairs: Sequence[ItemPair]) -> Iterator[list[ItemPair]]:
    """Splits pairs into groups that fit into one transaction each, and keeps their order."""
    group, group_bytes = list[ItemPair](), 0
    for pair in pairs:
        pair_bytes = sum(stored_size(item) for item in (pair.source_item, pair.target_item) if item)
        if group and (len(group) == ITEMS_PER_TRANSACTION or group_bytes + pair_bytes > MAX_TRANSACTION_BYTES):
            yield group
            group, group_bytes = [], 0
        group.append(pair)
        group_bytes += pair_bytes
    if group:
        yield group


def _differs(item: Item, counterpart: Item | None) -> bool:
    """Tells whether two items differ. An expired item never does: DynamoDB may have deleted it from one table only."""
    return not has_expired(item) and not items_equal(item, counterpart)


def _key(item: Item) -> Item:
    return {"PK": item["PK"], "SK": item["SK"]}
