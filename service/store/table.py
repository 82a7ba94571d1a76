"""The table as one tenant, or the control plane, sees it: nothing outside its fence can be named through it."""

import asyncio
import heapq
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import structlog

from service.errors import Internal
from service.store.answers import Refused
from service.store.batch import delete_many, get_many
from service.store.calls import Caller
from service.store.codec import Item
from service.store.cursor import Position, Scope, Sealer
from service.store.entity import Get, M, Query, key_names
from service.store.keys import Fence
from service.store.page import Edge, Page, checked_size
from service.store.shards import UNSHARDED, ShardMap
from service.store.write import Write, table_key

TRANSACTION = 100

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Reads and writes inside one fence, on credentials that reach no further."""

    fence: Fence
    caller: Caller
    sealer: Sealer
    shards: ShardMap = UNSHARDED
    consistent: bool = False
    on_foreign: Callable[[], None] = lambda: None

    async def find(self, pattern: Get[M], **values: object) -> M | None:
        key = table_key(pattern.entity, self.fence, self.shards, values)
        answer = await self._call("GetItem", {"Key": key, "ConsistentRead": self.consistent})
        return pattern.entity.read(answer["Item"]) if "Item" in answer else None

    async def find_many(self, pattern: Get[M], wanted: Sequence[Mapping[str, object]]) -> list[M | None]:
        """One answer for each key that was asked for, in that order, for as few calls as batches allow."""
        keys = [table_key(pattern.entity, self.fence, self.shards, values) for values in wanted]
        distinct = {_address(key): key for key in keys}
        with _meanings():
            items = await get_many(self.caller, list(distinct.values()), consistent=self.consistent)
        found = {_address(item): pattern.entity.read(item) for item in items}
        return [found.get(_address(key)) for key in keys]

    async def find_first(self, pattern: Query[M], **values: object) -> M | None:
        items = await self._slots(pattern, 1, None, values)
        return pattern.entity.read(items[0]) if items else None

    async def page(self, pattern: Query[M], *, first: int, after: str | None = None, **values: object) -> Page[M]:
        """One more item than asked for is read, so that `has_next` is a fact and not a guess."""
        checked_size(first)
        start = None if after is None else self._opened(pattern, after, values)
        items = await self._slots(pattern, first + 1, start, values)
        place = self._places(pattern, values)
        edges = tuple(
            Edge(pattern.entity.read(item), partial(place, self._position(pattern, item))) for item in items[:first]
        )
        return Page(edges=edges, has_next=len(items) > first, has_previous=start is not None)

    def paged(
        self, pattern: Query[M], nodes: Sequence[M], *, has_next: bool, has_previous: bool, **values: object
    ) -> Page[M]:
        """A page of items of this pattern that are already in hand."""
        place = self._places(pattern, values)
        edges = tuple(Edge(node, partial(self._placed, pattern, place, node)) for node in nodes)
        return Page(edges=edges, has_next=has_next, has_previous=has_previous)

    async def every(self, pattern: Query[M], **values: object) -> AsyncIterator[M]:
        for partition in pattern.key.partitions(self.fence, self.shards, values):
            start: Item | None = None
            while True:
                answer = await self._call("Query", self._query(pattern, partition, 100, start))
                for item in self._own(answer["Items"]):
                    yield pattern.entity.read(item)
                if (start := answer.get("LastEvaluatedKey")) is None:
                    break

    async def write(self, *writes: Write[Any]) -> None:
        """All of it or nothing; a retry after a lost answer does nothing twice."""
        if len(writes) > TRANSACTION:
            raise Internal(f"a transaction takes {TRANSACTION} writes, not {len(writes)}")
        members = [write.render(self.caller.table, self.fence, self.shards) for write in writes]
        token = uuid.uuid4().hex
        try:
            await self.caller.call("TransactWriteItems", {"TransactItems": members, "ClientRequestToken": token})
        except Refused as refusal:
            raise _blamed(refusal, writes) from refusal

    async def delete_many(self, pattern: Get[M], wanted: Sequence[Mapping[str, object]]) -> None:
        keys = [table_key(pattern.entity, self.fence, self.shards, values) for values in wanted]
        with _meanings():
            await delete_many(self.caller, list({_address(key): key for key in keys}.values()))

    async def _slots(
        self, pattern: Query[M], limit: int, start: Position | None, values: Mapping[str, object]
    ) -> list[Item]:
        """The next items of every slot, merged in sort order."""
        partitions = pattern.key.partitions(self.fence, self.shards, values)
        parts = await asyncio.gather(*(self._slot(pattern, one, limit, start) for one in partitions))
        sort = key_names(pattern.index).sort
        merged = heapq.merge(*parts, key=lambda item: item[sort]["S"], reverse=pattern.newest_first)
        return list(islice(merged, limit))

    async def _slot(self, pattern: Query[M], partition: str, limit: int, start: Position | None) -> list[Item]:
        items: list[Item] = []
        resume = start and self._resume(pattern, partition, start)
        while True:
            answer = await self._call("Query", self._query(pattern, partition, limit - len(items), resume))
            items += self._own(answer["Items"])
            resume = answer.get("LastEvaluatedKey")
            if resume is None or len(items) >= limit:
                return items

    def _query(self, pattern: Query[M], partition: str, limit: int, start: Item | None) -> dict[str, Any]:
        names = key_names(pattern.index)
        condition, values = "#p = :p", {":p": {"S": partition}}
        placed = {"#p": names.partition}
        if pattern.begins_with:
            condition += " AND begins_with(#s, :s)"
            values[":s"], placed["#s"] = {"S": pattern.begins_with}, names.sort
        parameters: dict[str, Any] = {
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": placed,
            "ExpressionAttributeValues": values,
            "Limit": limit,
            "ScanIndexForward": not pattern.newest_first,
        }
        if pattern.index == "table":
            parameters["ConsistentRead"] = self.consistent
        else:
            parameters["IndexName"] = pattern.index.upper()
        return parameters | ({"ExclusiveStartKey": start} if start else {})

    def _own(self, items: Sequence[Item]) -> list[Item]:
        """IAM fences index reads by the index key alone, and a hostile writer may have put our prefix there."""
        own = [item for item in items if self.fence.holds(item["PK"]["S"])]
        for _ in range(len(items) - len(own)):
            log.error("foreign_item_in_index", fence=self.fence.prefix)
            self.on_foreign()
        return own

    def _places(self, pattern: Query[M], values: Mapping[str, object]) -> Callable[[Position], str]:
        """What turns positions of this list into cursors."""
        scope = self._scope(pattern, values)
        return lambda position: self.sealer.seal(position, scope)

    def _placed(self, pattern: Query[M], place: Callable[[Position], str], node: M) -> str:
        return place(self._position(pattern, pattern.entity.index_item(node, self.fence, self.shards)))

    def _position(self, pattern: Query[M], item: Item) -> Position:
        sort = item[key_names(pattern.index).sort]["S"]
        if pattern.index == "table":
            return Position(sort)
        return Position(sort, item["PK"]["S"].removeprefix(self.fence.prefix), item["SK"]["S"])

    def _opened(self, pattern: Query[M], cursor: str, values: Mapping[str, object]) -> Position:
        return self.sealer.open(cursor, self._scope(pattern, values))

    def _scope(self, pattern: Query[M], values: Mapping[str, object]) -> Scope:
        return Scope(self.fence.prefix, pattern.identity, pattern.key.partition.render(values))

    def _resume(self, pattern: Query[M], partition: str, position: Position) -> Item:
        """The place after which to go on, in any slot: order is by sort key, and the place need not exist there."""
        names = key_names(pattern.index)
        start: Item = {names.partition: {"S": partition}, names.sort: {"S": position.sort}}
        if pattern.index != "table":
            start["PK"] = {"S": self.fence.prefix + position.table_partition}
            start["SK"] = {"S": position.table_sort}
        return start

    async def _call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        with _meanings():
            return await self.caller.call(operation, {"TableName": self.caller.table, **parameters})


@contextmanager
def _meanings() -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        raise refusal.error() from refusal


def _blamed(refusal: Refused, writes: Sequence[Write[Any]]) -> Exception:
    """The error of the first write whose condition failed."""
    for reason, write in zip(refusal.reasons, writes, strict=False):
        if reason == "ConditionalCheckFailed":
            return write.otherwise()
    return refusal.error()


def _address(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
