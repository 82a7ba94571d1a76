"""`BoundQuery`: a Query with its values. The functions here read several shards and merge them into one list."""

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
"""How many shards of one list are read at the same time. The client has 32 connections, so further reads would
wait."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The order of a list, by one text attribute."""

    attribute: str
    """The sort key attribute of the table or of an index."""
    newest_first: bool = False

    def sort_key(self, item: Item) -> str:
        sort_key: str = item[self.attribute]["S"]
        return sort_key

    def sorted(self, items: Iterable[Item]) -> list[Item]:
        return sorted(items, key=self.sort_key, reverse=self.newest_first)

    def precedes(self, item: Item, other: Item) -> bool:
        """Whether an item comes before another item. Items with equal sort keys do not precede each other."""
        if self.newest_first:
            return self.sort_key(item) > self.sort_key(other)
        return self.sort_key(item) < self.sort_key(other)


@dataclass(slots=True)
class ShardReader:
    """How far one shard of a list has been read."""

    partition: str
    start_key: Item | None = None
    """The ExclusiveStartKey of the next Query."""
    seen_sort_key: str | None = None
    """The sort key of the last item of the client's previous page. None if no Query can return this item again."""
    items: list[Item] = field(default_factory=list)
    """The items read so far."""
    is_exhausted: bool = False
    """Whether the whole shard has been read."""

    def without_seen(self, items: Sequence[Item], order: SortOrder) -> Sequence[Item]:
        """Returns the items without the item whose sort key is `seen_sort_key`."""
        if self.seen_sort_key is None:
            return items
        return [item for item in items if order.sort_key(item) != self.seen_sort_key]


FetchItems = Callable[[ShardReader, int], Awaitable[None]]
"""A function that reads this many more items into `ShardReader.items`, or fewer if the shard has no more."""


async def merge_shards(readers: Sequence[ShardReader], order: SortOrder, limit: int, fetch: FetchItems) -> list[Item]:
    """Returns the first `limit` items of all shards together. Items must not move between the shards.

    A shard must be read further if its next item could come before the last item of the result."""
    merged: list[Item] = []
    unfinished, needed = list(readers), limit
    while unfinished:
        await _fetch_all(fetch, unfinished, items_per_shard(needed, len(unfinished)))
        merged = order.sorted(item for reader in readers for item in reader.items)
        last = merged[limit - 1] if len(merged) >= limit else None
        unfinished = [
            reader
            for reader in readers
            if not reader.is_exhausted and (last is None or order.precedes(reader.items[-1], last))
        ]
        needed = limit - _count_final(merged[:limit], unfinished, order)
    return merged[:limit]


async def merge_moving_shards(
    stages: Iterable[Sequence[ShardReader]], order: SortOrder, limit: int, fetch: FetchItems
) -> list[Item]:
    """Returns the first `limit` items of all shards together, while items move from shards of one stage to shards of a
    later stage.

    The stages are read one after the other, up to `limit` items from each shard. An item that moves during the read is
    found in a later stage. An item that is found twice counts once."""
    items_by_identity: dict[tuple[str, ...], Item] = {}
    for stage in stages:
        await _fetch_all(fetch, stage, limit)
        items_by_identity |= {_identity(item, order): item for reader in stage for item in reader.items}
    return order.sorted(items_by_identity.values())[:limit]


async def _fetch_all(fetch: FetchItems, readers: Sequence[ShardReader], count: int) -> None:
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
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from group


def items_per_shard(needed: int, shards: int) -> int:
    """Returns how many items to read from each shard, to get the next `needed` items of the list.

    Items are spread over shards at random. The mean plus one standard deviation is enough for most shards, and the
    others are read again."""
    mean = needed / shards
    return needed if shards == 1 else ceil(mean + sqrt(mean))


@dataclass(frozen=True)
class BoundQuery(Generic[M]):
    """A Query pattern with its values, inside one fence."""

    pattern: Query[M]
    fence: Fence
    values: Mapping[str, object]
    """The values of the fields in the partition key, by name."""
    sort_key_range: SortKeyRange

    def partitions(self, shards: ShardMap) -> Iterator[str]:
        return self.pattern.key.partitions(self.fence, shards, self.values)

    def read_stages(self, shards: ShardMap, start: CursorPosition | None) -> list[list[ShardReader]]:
        """Returns a reader for each shard, as a list for each stage. Stages must be read one after the other. The
        readers begin after the position `start`, or at the beginning of the list if it is None."""
        stages = self.pattern.key.read_stages(self.fence, shards, self.values)
        seen_sort_key = start.sort if start and self._can_repeat_items else None
        return [
            [ShardReader(partition, start and self.start_key(partition, start), seen_sort_key) for partition in stage]
            for stage in stages
        ]

    @property
    def _can_repeat_items(self) -> bool:
        """Whether a Query can return the item of its own start position again.

        In an index, the position of an item is its sort key and then its table key. A reshard can change the table key,
        and then the item may come after its old position."""
        return self.pattern.index != "table" and self.pattern.entity.keys["table"].sharding is not None

    @property
    def order(self) -> SortOrder:
        return SortOrder(key_names(self.pattern.index).sort, self.pattern.newest_first)

    @cached_property
    def scope(self) -> CursorScope:
        """The list that the cursors of this query belong to. It is cached because each item of a page has a cursor."""
        partition = self.pattern.key.partition.render(self.values)
        arguments = "|".join((partition, self.sort_key_range.low, self.sort_key_range.high))
        return CursorScope(self.fence.prefix, self.pattern.identity, arguments)

    def parameters(self, partition: str, limit: int, start: Item | None, *, consistent: bool) -> dict[str, Any]:
        """Returns the parameters of a Query call, except TableName."""
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
        """Returns the position of an item in this list."""
        sort = item[key_names(self.pattern.index).sort]["S"]
        if self.pattern.index == "table":
            return CursorPosition(sort)
        return CursorPosition(sort, item["PK"]["S"].removeprefix(self.fence.prefix), item["SK"]["S"])

    def start_key(self, partition: str, position: CursorPosition) -> Item:
        """Returns the ExclusiveStartKey for a Query that continues after a position. `partition` can be any shard. It
        need not contain an item with this key, because DynamoDB continues after the sort key."""
        names = key_names(self.pattern.index)
        start: Item = {names.partition: {"S": partition}, names.sort: {"S": position.sort}}
        if self.pattern.index != "table":
            start["PK"] = {"S": self.fence.prefix + position.table_partition}
            start["SK"] = {"S": position.table_sort}
        return start


def _count_final(items: Sequence[Item], unfinished: Sequence[ShardReader], order: SortOrder) -> int:
    """Returns how many of these items are final: no unread item can come before them.

    Unread items of a shard come after the last item that was read from the shard."""
    last_items = order.sorted(reader.items[-1] for reader in unfinished)
    if not last_items:
        return len(items)
    return sum(not order.precedes(last_items[0], item) for item in items)


def _identity(item: Item, order: SortOrder) -> tuple[str, ...]:
    """Returns the part of the item's table key that a reshard does not change. If the list is read by the table key,
    this is only the sort key, because the reshard changes the partition key."""
    return (item["SK"]["S"],) if order.attribute == "SK" else item_key(item)
