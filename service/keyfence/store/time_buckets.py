"""Reads a list that has one partition for each day or month (a time bucket) as one list, newest first."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from keyfence.store.codec import Item
from keyfence.store.cursor import CursorPosition, CursorScope
from keyfence.store.entity import M, Query
from keyfence.store.key_template import KeyField
from keyfence.store.keys import SortKeyRange, ValueRange
from keyfence.store.pagination import Edge, Page, checked_page_size
from keyfence.store.sharded_query import BoundQuery
from keyfence.store.table import Table
from keyfence.store.timestamps import to_utc


async def page_over_time_buckets(
    table: Table,
    pattern: Query[M],
    *,
    between: ValueRange,
    oldest: datetime,
    newest: datetime,
    first: int,
    after: str | None = None,
    **values: object,
) -> Page[M]:
    """Returns a page of the items that are `between` two values, and in the buckets from `oldest` to `newest`.

    `between` is the client's choice, and a cursor is valid for the same `between` only. `oldest` and `newest` follow
    the clock, so a cursor does not depend on them.

    Buckets are read in groups of 1, 2, 4 and so on. If the newest bucket is full, one Query is enough. If many buckets
    are empty, few rounds are needed."""
    checked_page_size(first)
    scope = _cursor_scope(table, pattern, between, values)
    start = None if after is None else table.cursors.decode(after, scope)
    low = max(_utc_time_or(between.low, oldest), to_utc(oldest))
    high = min(_utc_time_or(between.high, newest), to_utc(newest))
    bucket_field = _bucket_field(pattern)
    sort_key_range = _limited_range(pattern, between, low)
    queries = [
        table.bind(pattern, {**values, bucket_field.name: time}, sort_key_range)
        for time in _bucket_times(bucket_field.spec, low, high)
    ]
    results = await _read_buckets(table, _remaining_queries(queries, start), first + 1, start)
    edges = tuple(
        Edge(pattern.entity.from_item(item), partial(table.cursors.encode, _position(query, item), scope))
        for query, item in results[:first]
    )
    return Page(edges=edges, has_next=len(results) > first, has_previous=start is not None)


def _cursor_scope(table: Table, pattern: Query[M], between: ValueRange, values: Mapping[str, object]) -> CursorScope:
    requested = pattern.sort_key_range(between)
    arguments = "|".join((*map(str, values.values()), requested.low, requested.high))
    return CursorScope(table.fence.prefix, pattern.identity, arguments)


def _utc_time_or(value: object, default: datetime) -> datetime:
    return to_utc(value if isinstance(value, datetime) else default)


def _limited_range(pattern: Query[M], between: ValueRange, low: datetime) -> SortKeyRange:
    """Returns the sort keys to read. If they begin with the time, `low` limits them: the oldest bucket also has items
    from before `low`."""
    return pattern.sort_key_range(replace(between, low=low) if pattern.range_field else between)


def _bucket_field(pattern: Query[M]) -> KeyField:
    """Returns the field of the partition key that names the bucket, such as {created_at:month}."""
    segments = pattern.key.partition.segments
    (field,) = (segment for segment in segments if isinstance(segment, KeyField) and segment.spec in _BUCKET_STARTS)
    return field


def _bucket_times(spec: str, oldest: datetime, newest: datetime) -> Iterator[datetime]:
    """Yields one time in each bucket, newest first."""
    time = newest
    while time >= oldest:
        yield time
        time = _BUCKET_STARTS[spec](time) - timedelta(microseconds=1)


def _start_of_day(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _start_of_month(time: datetime) -> datetime:
    return _start_of_day(time).replace(day=1)


_BUCKET_STARTS = {"day": _start_of_day, "month": _start_of_month}


def _remaining_queries(queries: Sequence[BoundQuery[M]], start: CursorPosition | None) -> list[BoundQuery[M]]:
    """Returns the queries of the buckets that can have items after a position.

    The result is empty if the position is older than `oldest`, which follows the clock."""
    if start is None:
        return list(queries)
    return [
        query for query in queries if _bucket_name(query) <= start.bucket and query.sort_key_range.low <= start.sort
    ]


def _bucket_name(query: BoundQuery[M]) -> str:
    return query.pattern.key.partition.render(query.values)


def _position(query: BoundQuery[M], item: Item) -> CursorPosition:
    return query.position(item)._replace(bucket=_bucket_name(query))


async def _read_buckets(
    table: Table, queries: Sequence[BoundQuery[M]], limit: int, start: CursorPosition | None
) -> list[tuple[BoundQuery[M], Item]]:
    """Returns at least `limit` items, or all that there are, each with the query that found it."""
    results: list[tuple[BoundQuery[M], Item]] = []
    remaining, group_size = iter(queries), 1
    while len(results) < limit and (group := list(islice(remaining, group_size))):
        items_of_group = await asyncio.gather(*(table.read(query, limit, start) for query in group))
        results += [(query, item) for query, items in zip(group, items_of_group, strict=True) for item in items]
        group_size *= 2
    return results
