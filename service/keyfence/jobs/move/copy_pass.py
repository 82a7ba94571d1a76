"""Two tables that are to have the same items of a tenant: what is done to a page of one of them."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from keyfence.errors import Internal
from keyfence.jobs.scan_pass import PassResult, item_digest
from keyfence.store.codec import Item, has_expired, item_key
from keyfence.store.dual_write.item_sync import ItemSync, SyncOutcome, items_equal
from keyfence.store.dynamodb.caller import DynamoDbCaller, get_many
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.table import Table
from keyfence_iam.dynamodb.item_size import stored_size

AT_ONCE = 8
TOGETHER = 25
"""Items of one transaction, which takes twice as many members, and disturbs whoever writes one of them meanwhile."""
MOST_BYTES = 1_000_000
"""Of one transaction, far below the 4 MB that it may have."""
TRIES = 10
"""An item that is written all the time is looked at again so often before another round is needed."""


class ItemPair(NamedTuple):
    """What the two tables said of one key, one after the other."""

    key: Item
    model: Item | None
    copy: Item | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPass:
    """`table` is a handle whose credentials reach both tables; the target is to have what the source has."""

    table: Table
    source: str
    target: str

    async def copy(self, items: Sequence[Item]) -> PassResult:
        """A page of the source: what the target lacks, or has otherwise, is made there."""
        return await self._made(await self._ahead(items))

    async def clear(self, items: Sequence[Item]) -> PassResult:
        """A page of the target: what the source does not have goes."""
        return await self._made(await self._behind(items))

    async def compare(self, items: Sequence[Item]) -> PassResult:
        return await self._counted(items, await self._ahead(items))

    async def compare_back(self, items: Sequence[Item]) -> PassResult:
        return await self._counted(items, await self._behind(items))

    async def _ahead(self, items: Sequence[Item]) -> list[ItemPair]:
        found = await self._others(items, self.target)
        return [ItemPair(_key(one), one, other) for one, other in found if _differs(one, other)]

    async def _behind(self, items: Sequence[Item]) -> list[ItemPair]:
        found = await self._others(items, self.source)
        return [ItemPair(_key(one), other, one) for one, other in found if _differs(one, other)]

    async def _others(self, items: Sequence[Item], at: str) -> list[tuple[Item, Item | None]]:
        keys = [_key(item) for item in items]
        found = {item_key(one): one for one in await get_many(replace(self._caller, table=at), keys, consistent=True)}
        return [(item, found.get(item_key(item))) for item in items]

    async def _made(self, pairs: Sequence[ItemPair]) -> PassResult:
        before, turns = self._caller.meter.write_units, asyncio.Semaphore(AT_ONCE)
        made = await asyncio.gather(*(self._some(some, turns) for some in _together(pairs)))
        units = max(float(len(pairs)), self._caller.meter.write_units - before)
        digest = sum(item_digest(pair.model) for pair in pairs if pair.model)
        return PassResult(changed=sum(made), digest=digest, units=units if pairs else 0.0)

    async def _some(self, pairs: Sequence[ItemPair], turns: asyncio.Semaphore) -> int:
        """How many had to be made: all in one transaction, or one by one where somebody was faster with any."""
        likeness = ItemSync(caller=self._caller, source=self.source, target=self.target)
        async with turns:
            try:
                if await likeness.write_all(pairs) is SyncOutcome.COPIED:
                    return len(pairs)
                return sum([await _one(likeness, pair) for pair in pairs])
            except DynamoDbError as refusal:
                raise refusal.as_keyfence_error() from refusal

    async def _counted(self, items: Sequence[Item], pairs: Sequence[ItemPair]) -> PassResult:
        wrong = [pair for pair in pairs if not await self._agree(pair.key)]
        return PassResult(wrong=len(wrong), digest=sum(map(item_digest, items)), counts={"compared": len(items)})

    async def _agree(self, key: Item) -> bool:
        """At one moment: of what is written all the time, two reads would never say the same."""
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
            raise Internal("copies are made by a handle that asks one table at a time")
        return caller


async def _one(likeness: ItemSync, pair: ItemPair) -> bool:
    """Whether it had to be made; what is never still is left to the next round."""
    for _ in range(TRIES):
        outcome = await likeness.sync(pair.key)
        if outcome is not SyncOutcome.CONFLICT:
            return outcome is SyncOutcome.COPIED
    return False


def _together(pairs: Sequence[ItemPair]) -> Iterator[list[ItemPair]]:
    """In their order, as many as one transaction takes."""
    some, size = list[ItemPair](), 0
    for pair in pairs:
        weight = sum(stored_size(item) for item in (pair.model, pair.copy) if item)
        if some and (len(some) == TOGETHER or size + weight > MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(pair)
        size += weight
    if some:
        yield some


def _differs(one: Item, other: Item | None) -> bool:
    """What has expired may be gone from one of the tables and not yet from the other."""
    return not has_expired(one) and not items_equal(one, other)


def _key(item: Item) -> Item:
    return {"PK": item["PK"], "SK": item["SK"]}
