"""A query with its arguments; merge of many shards."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Any, Generic

from keyfence.store.codec import Item
from keyfence.store.cursor import CursorPosition, CursorScope
from keyfence.store.entity import M, Query, key_names
from keyfence.store.keys import Fence, SortKeyRange
from keyfence.store.shards import ShardMap

MAX_CONCURRENT_SHARDS = 32
"""Slots that one list asks at the same time."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order of a list: by the texts of one attribute."""

    attribute: str
    newest_first: bool = False

    def key(self, item: Item) -> str:
        text: str = item[self.attribute]["S"]
        return text

    def sorted(self, items: Iterable[Item]) -> list[Item]:
        return sorted(items, key=self.key, reverse=self.newest_first)

    def precedes(self, one: Item, other: Item) -> bool:
        """Strictly."""
        return self.key(one) > self.key(other) if self.newest_first else self.key(one) < self.key(other)


@dataclass(slots=True)
class ShardReader:
    """One partition of a list, read from its beginning or from a place on."""

    partition: str
    start_key: Item | None = None
    passed: str | None = None
    """The place of an item that was met already and may have got another key since."""
    items: list[Item] = field(default_factory=list)
    exhausted: bool = False

    def new(self, items: Sequence[Item], order: SortOrder) -> Sequence[Item]:
        return items if self.passed is None else [one for one in items if order.key(one) != self.passed]


Fetch = Callable[[ShardReader, int], Awaitable[None]]
"""Reads so many more items into the slot, or what is left of it."""


async def merge_shards(slots: Sequence[ShardReader], order: SortOrder, limit: int, fetch: Fetch) -> list[Item]:
    """The first `limit` items of all slots together, where items do not move from one slot to another.

    A slot that is not read to its end hides what follows its last item: it is read on while that could still come
    before the last item of the answer."""
    found: list[Item] = []
    dry, need = list(slots), limit
    while dry:
        await fetch_all(fetch, dry, share(need, len(dry)))
        found = order.sorted(item for slot in slots for item in slot.items)
        last = found[limit - 1] if len(found) >= limit else None
        dry = [slot for slot in slots if not slot.exhausted and (last is None or order.precedes(slot.items[-1], last))]
        need = limit - _sure(found[:limit], dry, order)
    return found[:limit]


def _sure(found: Sequence[Item], dry: Sequence[ShardReader], order: SortOrder) -> int:
    """How many of these nothing can come before any more."""
    ends = order.sorted(slot.items[-1] for slot in dry)
    return sum(not order.precedes(ends[0], item) for item in found) if ends else len(found)


async def merge_moving_shards(
    waves: Iterable[Sequence[ShardReader]], order: SortOrder, limit: int, fetch: Fetch
) -> list[Item]:
    """The same where items move from slots of earlier waves to slots of later ones.

    Every slot gives all that the answer could need before the next wave is asked, so that an item that has left is met
    where it went; one that is met twice counts once."""
    found: dict[tuple[str, ...], Item] = {}
    for wave in waves:
        await fetch_all(fetch, wave, limit)
        found |= {_identity(item, order): item for slot in wave for item in slot.items}
    return order.sorted(found.values())[:limit]


def _identity(item: Item, order: SortOrder) -> tuple[str, ...]:
    """The table's key, without the slot where that is what changes."""
    return (item["SK"]["S"],) if order.attribute == "SK" else (item["PK"]["S"], item["SK"]["S"])


def share(need: int, slots: int) -> int:
    """What a slot probably holds of the next items, and a standard deviation more."""
    mean = need / slots
    return need if slots == 1 else ceil(mean + sqrt(mean))


async def fetch_all(fetch: Fetch, slots: Sequence[ShardReader], count: int) -> None:
    """A slot that fails fails them all; nobody waits for the others."""
    if len(slots) == 1:
        await fetch(slots[0], count)
        return
    turns = asyncio.Semaphore(MAX_CONCURRENT_SHARDS)

    async def one(slot: ShardReader) -> None:
        async with turns:
            await fetch(slot, count)

    try:
        async with asyncio.TaskGroup() as tasks:
            for slot in slots:
                tasks.create_task(one(slot))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures


@dataclass(frozen=True, slots=True)
class BoundQuery(Generic[M]):
    """A pattern with its values, inside one fence; a cursor belongs to exactly one of these."""

    pattern: Query[M]
    fence: Fence
    values: Mapping[str, object]
    sort_key_range: SortKeyRange

    def partitions(self, shards: ShardMap) -> Iterator[str]:
        return self.pattern.key.partitions(self.fence, shards, self.values)

    def read_stages(self, shards: ShardMap, start: CursorPosition | None) -> list[list[ShardReader]]:
        """The slots to read from this place on, those first that have to be read first."""
        waves = self.pattern.key.read_stages(self.fence, shards, self.values)
        passed = start.sort if start and self._changes_keys else None
        return [[ShardReader(one, start and self.start_key(one, start), passed) for one in wave] for wave in waves]

    @property
    def _changes_keys(self) -> bool:
        """Whether items of this index move from slot to slot by their own keys, which decide between equal places."""
        return self.pattern.index != "table" and self.pattern.entity.keys["table"].shard is not None

    @property
    def order(self) -> SortOrder:
        return SortOrder(key_names(self.pattern.index).sort, self.pattern.newest_first)

    def scope(self) -> CursorScope:
        arguments = "|".join(
            (self.pattern.key.partition.render(self.values), self.sort_key_range.low, self.sort_key_range.high)
        )
        return CursorScope(self.fence.prefix, self.pattern.identity, arguments)

    def parameters(self, partition: str, limit: int, start: Item | None, *, consistent: bool) -> dict[str, Any]:
        names = key_names(self.pattern.index)
        condition, values = self.sort_key_range.condition()
        parameters: dict[str, Any] = {
            "KeyConditionExpression": f"#p = :p{condition}",
            "ExpressionAttributeNames": {"#p": names.partition, **({"#s": names.sort} if condition else {})},
            "ExpressionAttributeValues": {":p": {"S": partition}, **values},
            "Limit": limit,
            "ScanIndexForward": not self.pattern.newest_first,
        }
        if self.pattern.index == "table":
            parameters["ConsistentRead"] = consistent
        else:
            parameters["IndexName"] = self.pattern.index.upper()
        return parameters | ({"ExclusiveStartKey": start} if start else {})

    def position(self, item: Item) -> CursorPosition:
        sort = item[key_names(self.pattern.index).sort]["S"]
        if self.pattern.index == "table":
            return CursorPosition(sort)
        return CursorPosition(sort, item["PK"]["S"].removeprefix(self.fence.prefix), item["SK"]["S"])

    def start_key(self, partition: str, position: CursorPosition) -> Item:
        """The place after which to go on, in any slot: order is by sort key, and the place need not exist there."""
        names = key_names(self.pattern.index)
        start: Item = {names.partition: {"S": partition}, names.sort: {"S": position.sort}}
        if self.pattern.index != "table":
            start["PK"] = {"S": self.fence.prefix + position.table_partition}
            start["SK"] = {"S": position.table_sort}
        return start
