"""Lists that are stored in one partition for each day or month (a time bucket), and read as one list, newest first."""

import asyncio
from collections.abc import Iterator, Sequence
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
    """Returns a page of the items that are `between` two values and also from `oldest` to `newest`.

    A cursor is bound to `between` as the client sent it, but not to `oldest` and `newest`, which move with the clock.
    Buckets are read in groups that double in size: if the newest ones are full, one Query is enough; if they are empty,
    few rounds are needed."""
    checked_page_size(first)
    requested = pattern.sort_key_range(between)
    arguments = "|".join((*map(str, values.values()), requested.low, requested.high))
    scope = CursorScope(table.fence.prefix, pattern.identity, arguments)
    start = None if after is None else table.cursors.decode(after, scope)
    low = max(_time_or(between.low, oldest), to_utc(oldest))
    high = min(_time_or(between.high, newest), to_utc(newest))
    bucket = _bucket(pattern)
    queries = [
        table.bind(pattern, {**values, bucket.name: moment}, _clip(pattern, between, low))
        for moment in _moments(bucket.spec, low, high)
    ]
    found = await _read(table, _remaining(queries, start), first + 1, start)
    edges = tuple(
        Edge(pattern.entity.from_item(item), partial(table.cursors.encode, _position(query, item), scope))
        for query, item in found[:first]
    )
    return Page(edges=edges, has_next=len(found) > first, has_previous=start is not None)


def _time_or(value: object, default: datetime) -> datetime:
    return to_utc(value if isinstance(value, datetime) else default)


def _clip(pattern: Query[M], between: ValueRange, low: datetime) -> SortKeyRange:
    """Limits the range by `low`, since the oldest bucket has older items too. Only for lists in the order of time."""
    return pattern.sort_key_range(replace(between, low=low) if pattern.range_field else between)


def _bucket(pattern: Query[M]) -> KeyField:
    segments = pattern.key.partition.segments
    (bucket,) = (segment for segment in segments if isinstance(segment, KeyField) and segment.spec in _BUCKET_STARTS)
    return bucket


def _moments(spec: str, oldest: datetime, newest: datetime) -> Iterator[datetime]:
    """Returns one moment of each bucket, newest first."""
    moment = newest
    while moment >= oldest:
        yield moment
        moment = _BUCKET_STARTS[spec](moment) - timedelta(microseconds=1)


def _start_of_day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _start_of_month(moment: datetime) -> datetime:
    return _start_of_day(moment).replace(day=1)


_BUCKET_STARTS = {"day": _start_of_day, "month": _start_of_month}


def _remaining(queries: Sequence[BoundQuery[M]], start: CursorPosition | None) -> list[BoundQuery[M]]:
    """Returns the buckets that can have items after a position. The position itself may be too old by now."""
    if start is None:
        return list(queries)
    return [query for query in queries if _name(query) <= start.bucket and query.sort_key_range.low <= start.sort]


def _name(query: BoundQuery[M]) -> str:
    return query.pattern.key.partition.render(query.values)


def _position(query: BoundQuery[M], item: Item) -> CursorPosition:
    return query.position(item)._replace(bucket=_name(query))


async def _read(
    table: Table, queries: Sequence[BoundQuery[M]], limit: int, start: CursorPosition | None
) -> list[tuple[BoundQuery[M], Item]]:
    found: list[tuple[BoundQuery[M], Item]] = []
    remaining, group_size = iter(queries), 1
    while len(found) < limit and (group := list(islice(remaining, group_size))):
        parts = await asyncio.gather(*(table.read(query, limit, start) for query in group))
        found += [(query, item) for query, items in zip(group, parts, strict=True) for item in items]
        group_size *= 2
    return found
