"""`Table`: reads and writes inside one fence, for one tenant or for the control plane."""

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from keyfence.errors import Internal
from keyfence.store.codec import Item, item_key
from keyfence.store.cursor import CursorCodec, CursorPosition
from keyfence.store.dynamodb.batches import delete_many, get_many, put_many, transact_get
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.entity import Entity, Get, ItemCollection, M, P, Query
from keyfence.store.foreign_items import (
    MAX_FOREIGN_ITEMS,
    ForeignItemLog,
    OnForeignItems,
    foreign_read_units,
)
from keyfence.store.keys import Fence, SortKeyRange, ValueRange
from keyfence.store.pagination import MAX_PAGE_SIZE, Edge, Page, checked_page_size
from keyfence.store.sharded_query import BoundQuery, ShardReader, merge_moving_shards, merge_shards
from keyfence.store.shards import ShardMap
from keyfence.store.writes import ActivityLog, ActivityNote, Write, table_key

MAX_TRANSACTION_WRITES = 100
"""DynamoDB's limit for a transaction."""
MAX_SPLIT_TRANSACTION_WRITES = 50
"""How many writes to put into each transaction, if there are too many for one transaction. It is half of the limit,
because each write becomes two while a tenant moves to another table."""

TOO_MANY_FOREIGN_ITEMS = (
    "a list has too many items of other tenants; the log event foreign_item_in_index names their owner, and"
    " `keyfence rekey --tenant OWNER` removes them from the list"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A handle on the items of one tenant, or of the control plane.

    No method can build a key outside the fence, and the credentials do not allow other keys either. Methods take an
    access pattern, and the values of its key fields as keyword arguments."""

    fence: Fence
    caller: DynamoDbCaller
    cursors: CursorCodec
    consistent: bool = False
    """Whether reads of the table are consistent. Indexes have no consistent reads."""
    on_foreign_items: OnForeignItems = field(default_factory=ForeignItemLog)
    activity_log: ActivityLog | None = None
    """Returns the write that logs a note. None if there is no user, so that nothing is logged."""

    @property
    def shards(self) -> ShardMap:
        return self.caller.location.shards

    def with_own_meter(self) -> "Table":
        """Returns a handle with a new meter, which charges the same accounts. The meter counts the calls of this handle
        only.

        A job that works on several pages at the same time uses one handle for each page."""
        return replace(self, caller=self.caller.with_own_meter())

    async def find(self, pattern: Get[M], **values: object) -> M | None:
        if pattern.entity.keys["table"].sharding:
            (models,) = await self.find_in_all_shards(pattern, [values])
            return models[0] if models else None
        key = table_key(pattern.entity, self.fence, self.shards, values)
        answer = await self._call("GetItem", {"Key": key, "ConsistentRead": self.consistent})
        return pattern.entity.from_item(answer["Item"]) if "Item" in answer else None

    async def find_many(self, pattern: Get[M], keys: Sequence[Mapping[str, object]]) -> list[M | None]:
        """Returns one model, or None, for each key, in the order of the keys. Reads in batches."""
        table_keys = [table_key(pattern.entity, self.fence, self.shards, values) for values in keys]
        distinct_keys = {item_key(key): key for key in table_keys}
        with _keyfence_errors():
            items = await get_many(self.caller, list(distinct_keys.values()), consistent=self.consistent)
        models = {item_key(item): pattern.entity.from_item(item) for item in items}
        return [models.get(item_key(key)) for key in table_keys]

    async def find_in_all_shards(self, pattern: Get[M], keys: Sequence[Mapping[str, object]]) -> list[list[M]]:
        """Returns, for each key, the models with this key in all shards."""
        candidates = [list(self._candidate_keys(pattern, values)) for values in keys]
        with _keyfence_errors():
            items = await self._get_candidates(pattern, candidates)
        models = {item_key(item): pattern.entity.from_item(item) for item in items}
        return [[models[item_key(key)] for key in item_keys if item_key(key) in models] for item_keys in candidates]

    async def find_first(self, pattern: Query[M], **values: object) -> M | None:
        items = await self.read(self.bind(pattern, values), 1, None)
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
        """Returns a page of a list. Reads one item more than requested, to know whether there is a next page."""
        checked_page_size(first)
        query = self.bind(pattern, values, pattern.sort_key_range(between))
        start = None if after is None else self.cursors.decode(after, query.scope)
        items = [] if query.sort_key_range.is_empty else await self.read(query, first + 1, start)
        edges = tuple(self._edge(query, item) for item in items[:first])
        return Page(edges=edges, has_next=len(items) > first, has_previous=start is not None)

    def page_from_models(
        self, pattern: Query[M], models: Sequence[M], *, has_next: bool, has_previous: bool, **values: object
    ) -> Page[M]:
        """Returns a page of models that were read in another way, such as from embedded edges. Their cursors are valid
        for this pattern."""
        query = self.bind(pattern, values)

        def cursor(model: M) -> str:
            return self._cursor(query, pattern.entity.key_attributes(model, self.fence, self.shards))

        edges = tuple(Edge(model, partial(cursor, model)) for model in models)
        return Page(edges=edges, has_next=has_next, has_previous=has_previous)

    async def item_collection(
        self, pattern: ItemCollection[P, M], *, first: int, **values: object
    ) -> tuple[P | None, Page[M]]:
        """Returns the parent and the first page of its children, with one Query."""
        checked_page_size(first)
        parent, child = pattern.parent, pattern.children.entity
        query = self.bind(pattern.children, values, pattern.sort_key_range())
        items = await self.read(query, first + 2, None)  # the parent, the page, and one child of the next page
        parents = [parent.from_item(item) for item in items if item["type"]["S"] == parent.type]
        children = [item for item in items if item["type"]["S"] == child.type]
        children_query = self.bind(pattern.children, values)  # cursors continue the list of children, not this query
        edges = tuple(self._edge(children_query, item) for item in children[:first])
        page = Page(edges=edges, has_next=len(children) > first, has_previous=False)
        return next(iter(parents), None), page

    async def iterate(
        self, pattern: Query[M], *, between: ValueRange | None = None, **values: object
    ) -> AsyncIterator[M]:
        """Yields all items of a list in its order, page by page."""
        after: str | None = None
        while True:
            page = await self.page(pattern, first=MAX_PAGE_SIZE, after=after, between=between, **values)
            for model in page.items:
                yield model
            if not page.has_next:
                return
            after = page.edges[-1].cursor()

    async def iterate_shards(
        self, pattern: Query[M], *, between: ValueRange | None = None, **values: object
    ) -> AsyncIterator[M]:
        """Yields all items of a list, one shard after the other. An item that a job moves meanwhile may be yielded
        twice."""
        query = self.bind(pattern, values, pattern.sort_key_range(between))
        for partition in query.partitions(self.shards):
            reader = ShardReader(partition)
            while not reader.is_exhausted:
                reader.items.clear()
                await self._fetch(query, reader, MAX_PAGE_SIZE)
                for item in reader.items:
                    yield pattern.entity.from_item(item)

    async def write(self, *writes: Write[Any], note: ActivityNote | None = None) -> None:
        """Makes all writes, and logs the note, in one transaction. A retry after a lost answer does not write twice.

        If conditions fail, raises the error of the first write whose condition failed."""
        if note and self.activity_log:
            writes = (*writes, self.activity_log(note))
        if len(writes) > MAX_TRANSACTION_WRITES:
            raise Internal(f"a transaction can have at most {MAX_TRANSACTION_WRITES} writes, not {len(writes)}")
        actions = [write.render(self.caller.table, self.fence, self.shards) for write in writes]
        token = uuid.uuid4().hex
        try:
            await self.caller.call("TransactWriteItems", {"TransactItems": actions, "ClientRequestToken": token})
        except DynamoDbError as error:
            raise _transaction_error(error, writes) from error

    async def put_many(self, entity: Entity[M], models: Sequence[M]) -> None:
        """Puts items in batches, without a transaction and without conditions. Only for items that no other writer
        changes."""
        with _keyfence_errors():
            await put_many(self.caller, [entity.to_item(model, self.fence, self.shards) for model in models])

    async def delete_many(self, pattern: Get[M], keys: Sequence[Mapping[str, object]]) -> None:
        table_keys = [table_key(pattern.entity, self.fence, self.shards, values) for values in keys]
        with _keyfence_errors():
            await delete_many(self.caller, list({item_key(key): key for key in table_keys}.values()))

    def bind(
        self, pattern: Query[M], values: Mapping[str, object], sort_key_range: SortKeyRange | None = None
    ) -> BoundQuery[M]:
        return BoundQuery(pattern, self.fence, values, sort_key_range or pattern.sort_key_range())

    async def read(self, query: BoundQuery[M], limit: int, start: CursorPosition | None) -> list[Item]:
        """Returns the first `limit` items after `start`, from all shards, in the order of the list."""
        stages, fetch = query.read_stages(self.shards, start), partial(self._fetch, query)
        if query.pattern.key.is_moving(self.shards):
            return await merge_moving_shards(stages, query.order, limit, fetch)
        return await merge_shards([reader for stage in stages for reader in stage], query.order, limit, fetch)

    async def _fetch(self, query: BoundQuery[M], reader: ShardReader, count: int) -> None:
        """Reads `count` more items of a shard into the reader, fewer if the shard ends, or more if foreign items were
        dropped.

        Raises Internal if the shard of a tenant has too many foreign items. A list of the control plane is always read
        further: it has no quota, and operators must be able to read it.

        While items move between shards, the table is read consistently. An eventually consistent read of two shards
        could miss an item that moves from one to the other."""
        target, dropped_count = len(reader.items) + count, 0
        consistent = self.consistent or query.pattern.key.is_moving(self.shards)
        while not reader.is_exhausted and len(reader.items) < target:
            if dropped_count > MAX_FOREIGN_ITEMS and self.fence.realm == "tenant":
                raise Internal(TOO_MANY_FOREIGN_ITEMS)
            limit = max(target - len(reader.items), MAX_PAGE_SIZE if dropped_count else 1)
            parameters = query.parameters(reader.partition, limit, reader.start_key, consistent=consistent)
            answer = await self._call("Query", parameters)
            own_items = self._own_items(answer)
            dropped_count += len(answer["Items"]) - len(own_items)
            reader.items += reader.without_seen(own_items, query.order)
            reader.start_key = answer.get("LastEvaluatedKey")
            reader.is_exhausted = reader.start_key is None

    def _own_items(self, answer: Mapping[str, Any]) -> list[Item]:
        """Returns the items of a Query that are inside the fence. The others are reported, and not charged.

        IAM checks only the index key when an index is read. A malicious tenant that knows the index tag of this
        tenant could give its own item an index key of this tenant."""
        items: list[Item] = answer["Items"]
        own_items = [item for item in items if self.fence.contains(item["PK"]["S"])]
        if len(own_items) < len(items):
            foreign_items = [item for item in items if not self.fence.contains(item["PK"]["S"])]
            self.on_foreign_items(self.fence, foreign_items)
            self.caller.meter.refund(foreign_read_units(answer, len(foreign_items)))
        return own_items

    def _candidate_keys(self, pattern: Get[M], values: Mapping[str, object]) -> Iterator[Item]:
        for pair in pattern.entity.keys["table"].candidates(self.fence, self.shards, values):
            yield {"PK": {"S": pair.partition}, "SK": {"S": pair.sort}}

    async def _get_candidates(self, pattern: Get[M], keys: Sequence[Sequence[Item]]) -> list[Item]:
        """Returns the items that exist under any of the keys. Each element of `keys` has the candidates of one item.

        While items move between shards, the candidates of one item are read in a transaction: separate reads could find
        a moving item twice or not at all."""
        if not pattern.entity.keys["table"].is_moving(self.shards):
            all_candidates = [key for candidates in keys for key in candidates]
            return await get_many(self.caller, all_candidates, consistent=self.consistent)
        return [item for candidates in keys for item in await transact_get(self.caller, candidates)]

    def _edge(self, query: BoundQuery[M], item: Item) -> Edge[M]:
        return Edge(query.pattern.entity.from_item(item), partial(self._cursor, query, item))

    def _cursor(self, query: BoundQuery[M], item: Item) -> str:
        return self.cursors.encode(query.position(item), query.scope)

    async def _call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        with _keyfence_errors():
            return await self.caller.call(operation, {"TableName": self.caller.table, **parameters})


@contextmanager
def _keyfence_errors() -> Iterator[None]:
    """Converts a DynamoDbError to the error that the service raises for it."""
    try:
        yield
    except DynamoDbError as error:
        raise error.as_keyfence_error() from error


def _transaction_error(error: DynamoDbError, writes: Sequence[Write[Any]]) -> Exception:
    """Returns the error of the first write whose condition failed, or the service's error for the DynamoDbError."""
    for reason, write in zip(error.cancellation_reasons, writes, strict=False):
        if reason == "ConditionalCheckFailed":
            return write.on_failure()
    return error.as_keyfence_error()
