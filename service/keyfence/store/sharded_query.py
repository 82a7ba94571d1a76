"""A Query with its arguments, and the merge of several shards into one list."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, sqrt
from typing import Any, Generic

from keyfence.store.codec import Item, item_key
from keyfence.store.cursor import CursorPosition, CursorScope
from keyfence.store.entity import M, Query, key_names
from keyfence.store.keys import Fence, SortKeyRange
from keyfence.store.shards import ShardMap

MAX_CONCURRENT_SHARDS = 32
"""How many shards one list reads at the same time."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order of a list: by the text of one attribute."""

    attribute: str
    newest_first: bool = False

    def key(self, item: Item) -> str:
        text: str = item[self.attribute]["S"]
        return text

    def sorted(self, items: Iterable[Item]) -> list[Item]:
        return sorted(items, key=self.key, reverse=self.newest_first)

    def precedes(self, item: Item, other: Item) -> bool:
        """Whether an item comes before another one. Items with equal keys do not precede each other."""
        return self.key(item) > self.key(other) if self.newest_first else self.key(item) < self.key(other)


@dataclass(slots=True)
class ShardReader:
    """How far one shard (a partition of a list) has been read."""

    partition: str
    start_key: Item | None = None
    seen: str | None = None
    """The sort key of an item that the client has seen already. The item may have another table key since."""
    items: list[Item] = field(default_factory=list)
    exhausted: bool = False

    def unseen(self, items: Sequence[Item], order: SortOrder) -> Sequence[Item]:
        return items if self.seen is None else [item for item in items if order.key(item) != self.seen]


Fetch = Callable[[ShardReader, int], Awaitable[None]]
"""Reads this many more items into the reader, or fewer if the shard has no more."""


async def merge_shards(readers: Sequence[ShardReader], order: SortOrder, limit: int, fetch: Fetch) -> list[Item]:
    """Returns the first `limit` items of all shards together. Items must not move between shards meanwhile.

    A shard that is not exhausted may have more items after its last one. It is read further as long as such an item
    could come before the last item of the result."""
    found: list[Item] = []
    unfinished, needed = list(readers), limit
    while unfinished:
        await fetch_all(fetch, unfinished, items_per_shard(needed, len(unfinished)))
        found = order.sorted(item for reader in readers for item in reader.items)
        last = found[limit - 1] if len(found) >= limit else None
        unfinished = [
            reader
            for reader in readers
            if not reader.exhausted and (last is None or order.precedes(reader.items[-1], last))
        ]
        needed = limit - _count_final(found[:limit], unfinished, order)
    return found[:limit]


async def merge_moving_shards(
    stages: Iterable[Sequence[ShardReader]], order: SortOrder, limit: int, fetch: Fetch
) -> list[Item]:
    """Returns the first `limit` items of all shards together, while items move from shards of earlier stages to shards
    of later ones.

    Each stage is read completely, as far as the result can need it, before the next one. An item that has left its
    shard is then found in a later stage. An item that is found twice counts once."""
    found: dict[tuple[str, ...], Item] = {}
    for stage in stages:
        await fetch_all(fetch, stage, limit)
        found |= {_identity(item, order): item for reader in stage for item in reader.items}
    return order.sorted(found.values())[:limit]


async def fetch_all(fetch: Fetch, readers: Sequence[ShardReader], count: int) -> None:
    """Reads several shards concurrently. The first error cancels the other reads and is raised."""
    if len(readers) == 1:
        await fetch(readers[0], count)
        return
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_SHARDS)

    async def fetch_one(reader: ShardReader) -> None:
        async with semaphore:
            await fetch(reader, count)

    try:
        async with asyncio.TaskGroup() as tasks:
            for reader in readers:
                tasks.create_task(fetch_one(reader))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures


def items_per_shard(needed: int, shards: int) -> int:
    """Returns how many of the next items one shard probably has: the mean and one standard deviation."""
    mean = needed / shards
    return needed if shards == 1 else ceil(mean + sqrt(mean))


@dataclass(frozen=True)
class BoundQuery(Generic[M]):
    """A Query pattern with its values, inside one fence. A cursor is valid for one bound query only."""

    pattern: Query[M]
    fence: Fence
    values: Mapping[str, object]
    sort_key_range: SortKeyRange

    def partitions(self, shards: ShardMap) -> Iterator[str]:
        return self.pattern.key.partitions(self.fence, shards, self.values)

    def read_stages(self, shards: ShardMap, start: CursorPosition | None) -> list[list[ShardReader]]:
        """Returns a reader for each shard, from a position on, in groups to be read one after the other."""
        stages = self.pattern.key.read_stages(self.fence, shards, self.values)
        seen = start.sort if start and self._changes_table_keys else None
        return [
            [ShardReader(partition, start and self.start_key(partition, start), seen) for partition in stage]
            for stage in stages
        ]

    @property
    def _changes_table_keys(self) -> bool:
        """Whether items of this index have a sharded table key, which a job may change. Items with equal sort keys are
        ordered by their table keys, so a moved item could come after its own cursor."""
        return self.pattern.index != "table" and self.pattern.entity.keys["table"].sharding is not None

    @property
    def order(self) -> SortOrder:
        return SortOrder(key_names(self.pattern.index).sort, self.pattern.newest_first)

    @cached_property
    def scope(self) -> CursorScope:
        """The scope of all cursors of this query. Cached, because each item of a page has a cursor."""
        limits = self.sort_key_range
        arguments = "|".join((self.pattern.key.partition.render(self.values), limits.low, limits.high))
        return CursorScope(self.fence.prefix, self.pattern.identity, arguments)

    def parameters(self, partition: str, limit: int, start: Item | None, *, consistent: bool) -> dict[str, Any]:
        """Returns the parameters of a Query call without the table's name."""
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
        """Returns the position of an item in this list, from its key attributes."""
        sort = item[key_names(self.pattern.index).sort]["S"]
        if self.pattern.index == "table":
            return CursorPosition(sort)
        return CursorPosition(sort, item["PK"]["S"].removeprefix(self.fence.prefix), item["SK"]["S"])

    def start_key(self, partition: str, position: CursorPosition) -> Item:
        """Returns the ExclusiveStartKey that continues after a position, in any shard. The key need not exist there:
        DynamoDB continues by sort key."""
        names = key_names(self.pattern.index)
        start: Item = {names.partition: {"S": partition}, names.sort: {"S": position.sort}}
        if self.pattern.index != "table":
            start["PK"] = {"S": self.fence.prefix + position.table_partition}
            start["SK"] = {"S": position.table_sort}
        return start


def _count_final(found: Sequence[Item], unfinished: Sequence[ShardReader], order: SortOrder) -> int:
    """Returns how many of these items no unread item can precede."""
    ends = order.sorted(reader.items[-1] for reader in unfinished)
    return sum(not order.precedes(ends[0], item) for item in found) if ends else len(found)


def _identity(item: Item, order: SortOrder) -> tuple[str, ...]:
    """Returns the item's table key. In a list of the table itself only the sort key: the partition changes with the
    shard."""
    return (item["SK"]["S"],) if order.attribute == "SK" else item_key(item)
