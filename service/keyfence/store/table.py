"""The table as one tenant, or the control plane, sees it: nothing outside its fence can be named through it."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from keyfence.errors import Internal
from keyfence.store.codec import Item
from keyfence.store.cursor import CursorCodec, CursorPosition
from keyfence.store.dynamodb.caller import DynamoDbCaller, delete_many, get_many, put_many, transact_get
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.entity import Entity, Get, ItemCollection, M, P, Query
from keyfence.store.keys import Fence, SortKeyRange, ValueRange
from keyfence.store.pagination import MAX_PAGE_SIZE, Edge, Page, check_page_size
from keyfence.store.sharded_query import BoundQuery, ShardReader, merge_moving_shards, merge_shards
from keyfence.store.shards import ShardMap
from keyfence.store.writes import ActivityLog, ActivityNote, Write, table_key

MAX_TRANSACTION_WRITES = 100
MAX_SPLIT_TRANSACTION_WRITES = 50
"""The writes of what may be cut into several transactions: each is two where a tenant is being moved."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Reads and writes inside one fence, on credentials that reach no further."""

    fence: Fence
    caller: DynamoDbCaller
    cursors: CursorCodec
    consistent: bool = False
    on_foreign_item: Callable[[], None] = lambda: None
    activity_log: ActivityLog | None = None
    """Where notes on writes go; without one, nobody acts in whose name they could be kept."""

    @property
    def shards(self) -> ShardMap:
        return self.caller.location.shards

    async def find(self, pattern: Get[M], **values: object) -> M | None:
        if pattern.entity.keys["table"].shard:
            (found,) = await self.find_in_all_shards(pattern, [values])
            return found[0] if found else None
        key = table_key(pattern.entity, self.fence, self.shards, values)
        answer = await self._call("GetItem", {"Key": key, "ConsistentRead": self.consistent})
        return pattern.entity.from_item(answer["Item"]) if "Item" in answer else None

    async def find_many(self, pattern: Get[M], wanted: Sequence[Mapping[str, object]]) -> list[M | None]:
        """One answer for each key that was asked for, in that order, for as few calls as batches allow."""
        keys = [table_key(pattern.entity, self.fence, self.shards, values) for values in wanted]
        distinct = {_address(key): key for key in keys}
        with _meanings():
            items = await get_many(self.caller, list(distinct.values()), consistent=self.consistent)
        found = {_address(item): pattern.entity.from_item(item) for item in items}
        return [found.get(_address(key)) for key in keys]

    async def find_in_all_shards(self, pattern: Get[M], wanted: Sequence[Mapping[str, object]]) -> list[list[M]]:
        """For each key that was asked for, what is kept under it in any slot."""
        keys = [list(self._everywhere(pattern, values)) for values in wanted]
        with _meanings():
            items = await self._items(pattern, keys)
        found = {_address(item): pattern.entity.from_item(item) for item in items}
        return [[found[_address(key)] for key in some if _address(key) in found] for some in keys]

    async def _items(self, pattern: Get[M], keys: Sequence[Sequence[Item]]) -> list[Item]:
        """What moves between two reads would be met twice or not at all: while it may, a moment's state is read."""
        if not pattern.entity.keys["table"].is_moving(self.shards):
            return await get_many(self.caller, [key for some in keys for key in some], consistent=self.consistent)
        return [item for some in keys for item in await transact_get(self.caller, some)]

    def _everywhere(self, pattern: Get[M], values: Mapping[str, object]) -> Iterator[Item]:
        for pair in pattern.entity.keys["table"].candidates(self.fence, self.shards, values):
            yield {"PK": {"S": pair.partition}, "SK": {"S": pair.sort}}

    async def find_first(self, pattern: Query[M], **values: object) -> M | None:
        items = await self.read(self._reading(pattern, values), 1, None)
        return pattern.entity.from_item(items[0]) if items else None

    async def page(
        self,
        pattern: Query[M],
        *,
        first: int,
        after: str | None = None,
        between: ValueRange | None = None,
        **values: object,
    ) -> Page[M]:
        """One more item than asked for is read, so that `has_next` is a fact and not a guess."""
        check_page_size(first)
        reading = self._reading(pattern, values, pattern.sort_key_range(between))
        start = None if after is None else self.cursors.decode(after, reading.scope())
        items = [] if reading.sort_key_range.is_empty else await self.read(reading, first + 1, start)
        edges = tuple(
            Edge(pattern.entity.from_item(item), partial(self._cursor, reading, item)) for item in items[:first]
        )
        return Page(edges=edges, has_next=len(items) > first, has_previous=start is not None)

    def page_of(
        self, pattern: Query[M], nodes: Sequence[M], *, has_next: bool, has_previous: bool, **values: object
    ) -> Page[M]:
        """A page of items of this pattern that are already in hand."""
        reading = self._reading(pattern, values)
        edges = tuple(Edge(node, partial(self._cursor_of, reading, node)) for node in nodes)
        return Page(edges=edges, has_next=has_next, has_previous=has_previous)

    async def item_collection(
        self, pattern: ItemCollection[P, M], *, first: int, **values: object
    ) -> tuple[P | None, Page[M]]:
        """The parent and the first page of its children, for one Query."""
        check_page_size(first)
        children, parent = pattern.children.entity, pattern.parent
        reading = self._reading(pattern.children, values, pattern.sort_key_range())
        items = await self.read(reading, first + 2, None)
        parents = [parent.from_item(item) for item in items if item["type"]["S"] == parent.type]
        nodes = [children.from_item(item) for item in items if item["type"]["S"] == children.type]
        more = len(nodes) > first
        page = self.page_of(pattern.children, nodes[:first], has_next=more, has_previous=False, **values)
        return next(iter(parents), None), page

    async def iterate(
        self, pattern: Query[M], *, between: ValueRange | None = None, **values: object
    ) -> AsyncIterator[M]:
        """Yields all items in the order of the list, page by page. `iterate_shards` is cheaper and has no order."""
        after: str | None = None
        while True:
            page = await self.page(pattern, first=MAX_PAGE_SIZE, after=after, between=between, **values)
            for item in page.items:
                yield item
            if not page.has_next:
                return
            after = page.edges[-1].cursor()

    async def iterate_shards(
        self, pattern: Query[M], *, between: ValueRange | None = None, **values: object
    ) -> AsyncIterator[M]:
        """Slot by slot; an item that moved meanwhile may come twice."""
        reading = self._reading(pattern, values, pattern.sort_key_range(between))
        for partition in reading.partitions(self.shards):
            slot = ShardReader(partition)
            while not slot.exhausted:
                slot.items.clear()
                await self._fetch(reading, slot, 100)
                for item in slot.items:
                    yield pattern.entity.from_item(item)

    async def write(self, *writes: Write[Any], note: ActivityNote | None = None) -> None:
        """All of it and the note on it, or nothing; a retry after a lost answer does nothing twice."""
        if note and self.activity_log:
            writes = (*writes, self.activity_log(note))
        if len(writes) > MAX_TRANSACTION_WRITES:
            raise Internal(f"a transaction takes {MAX_TRANSACTION_WRITES} writes, not {len(writes)}")
        members = [write.render(self.caller.table, self.fence, self.shards) for write in writes]
        token = uuid.uuid4().hex
        try:
            await self.caller.call("TransactWriteItems", {"TransactItems": members, "ClientRequestToken": token})
        except DynamoDbError as refusal:
            raise _blamed(refusal, writes) from refusal

    async def put_many(self, entity: Entity[M], models: Sequence[M]) -> None:
        """Each for itself, whatever was there: for items that nobody else writes."""
        with _meanings():
            await put_many(self.caller, [entity.to_item(model, self.fence, self.shards) for model in models])

    async def delete_many(self, pattern: Get[M], wanted: Sequence[Mapping[str, object]]) -> None:
        keys = [table_key(pattern.entity, self.fence, self.shards, values) for values in wanted]
        with _meanings():
            await delete_many(self.caller, list({_address(key): key for key in keys}.values()))

    def _reading(
        self, pattern: Query[M], values: Mapping[str, object], stretch: SortKeyRange | None = None
    ) -> BoundQuery[M]:
        return BoundQuery(pattern, self.fence, values, stretch or pattern.sort_key_range())

    async def read(self, reading: BoundQuery[M], limit: int, start: CursorPosition | None) -> list[Item]:
        """The next items of every slot, merged in sort order."""
        waves, fetch = reading.read_stages(self.shards, start), partial(self._fetch, reading)
        if reading.pattern.key.is_moving(self.shards):
            return await merge_moving_shards(waves, reading.order, limit, fetch)
        return await merge_shards([slot for wave in waves for slot in wave], reading.order, limit, fetch)

    async def _fetch(self, reading: BoundQuery[M], slot: ShardReader, count: int) -> None:
        """What moves is read as it is now, where that can be had: an older state might know of it in no slot."""
        wanted, consistent = len(slot.items) + count, self.consistent or reading.pattern.key.is_moving(self.shards)
        while not slot.exhausted and len(slot.items) < wanted:
            asked = reading.parameters(slot.partition, wanted - len(slot.items), slot.start_key, consistent=consistent)
            answer = await self._call("Query", asked)
            slot.items += slot.new(self._own(answer["Items"]), reading.order)
            slot.start_key = answer.get("LastEvaluatedKey")
            slot.exhausted = slot.start_key is None

    def _own(self, items: Sequence[Item]) -> list[Item]:
        """IAM fences index reads by the index key alone, and a hostile writer may have put our prefix there."""
        own = [item for item in items if self.fence.contains(item["PK"]["S"])]
        for _ in range(len(items) - len(own)):
            log.error("foreign_item_in_index", fence=self.fence.prefix)
            self.on_foreign_item()
        return own

    def _cursor(self, reading: BoundQuery[M], item: Item) -> str:
        return self.cursors.encode(reading.position(item), reading.scope())

    def _cursor_of(self, reading: BoundQuery[M], node: M) -> str:
        return self._cursor(reading, reading.pattern.entity.key_attributes(node, self.fence, self.shards))

    async def _call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        with _meanings():
            return await self.caller.call(operation, {"TableName": self.caller.table, **parameters})


@contextmanager
def _meanings() -> Iterator[None]:
    try:
        yield
    except DynamoDbError as refusal:
        raise refusal.as_keyfence_error() from refusal


def _blamed(refusal: DynamoDbError, writes: Sequence[Write[Any]]) -> Exception:
    """The error of the first write whose condition failed."""
    for reason, write in zip(refusal.cancellation_reasons, writes, strict=False):
        if reason == "ConditionalCheckFailed":
            return write.on_failure()
    return refusal.as_keyfence_error()


def _address(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
