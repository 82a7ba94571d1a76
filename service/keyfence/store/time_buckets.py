"""Lists that are kept in a partition for each day or month, read as one, newest first."""

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
from keyfence.store.pagination import Edge, Page, check_page_size
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
    """A page of what lies in the span and between `oldest` and `newest`.

    A cursor belongs to the span as it was given, since the other two move with the clock. Partitions are read a few at
    a time, each time twice as many, so that busy days cost one Query and empty ones few rounds."""
    check_page_size(first)
    asked = pattern.sort_key_range(between)
    scope = CursorScope(
        table.fence.prefix, pattern.identity, "|".join((*map(str, values.values()), asked.low, asked.high))
    )
    start = None if after is None else table.cursors.decode(after, scope)
    ends = (max(_or(between.low, oldest), to_utc(oldest)), min(_or(between.high, newest), to_utc(newest)))
    readings = [
        BoundQuery(pattern, table.fence, {**values, _bucket(pattern).name: moment}, _clipped(pattern, between, ends[0]))
        for moment in _moments(_bucket(pattern).spec, *ends)
    ]
    found = await _filled(table, _from(readings, start), first + 1, start)
    edges = tuple(
        Edge(pattern.entity.from_item(item), partial(table.cursors.encode, _position(reading, item), scope))
        for reading, item in found[:first]
    )
    return Page(edges=edges, has_next=len(found) > first, has_previous=start is not None)


def _or(given: object, otherwise: datetime) -> datetime:
    return to_utc(given if isinstance(given, datetime) else otherwise)


def _clipped(pattern: Query[M], span: ValueRange, low: datetime) -> SortKeyRange:
    """Without what is too old and lies in the oldest bucket all the same, where the list is in the order of time."""
    return pattern.sort_key_range(replace(span, low=low) if pattern.range_field else span)


def _bucket(pattern: Query[M]) -> KeyField:
    (bucket,) = (one for one in pattern.key.partition.segments if isinstance(one, KeyField) and one.spec in _STEPS)
    return bucket


def _moments(spec: str, oldest: datetime, newest: datetime) -> Iterator[datetime]:
    """One moment of every bucket, newest first."""
    moment = newest
    while moment >= oldest:
        yield moment
        moment = _STEPS[spec](moment) - timedelta(microseconds=1)


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(moment: datetime) -> datetime:
    return _day(moment).replace(day=1)


_STEPS = {"day": _day, "month": _month}


def _from(readings: Sequence[BoundQuery[M]], start: CursorPosition | None) -> list[BoundQuery[M]]:
    """Without the partitions that earlier pages have read to their end, or to what has become too old since."""
    if start is None:
        return list(readings)
    return [one for one in readings if _name(one) <= start.bucket and one.sort_key_range.low <= start.sort]


def _name(reading: BoundQuery[M]) -> str:
    return reading.pattern.key.partition.render(reading.values)


def _position(reading: BoundQuery[M], item: Item) -> CursorPosition:
    return reading.position(item)._replace(bucket=_name(reading))


async def _filled(
    table: Table, readings: Sequence[BoundQuery[M]], limit: int, start: CursorPosition | None
) -> list[tuple[BoundQuery[M], Item]]:
    found: list[tuple[BoundQuery[M], Item]] = []
    ahead, width = iter(readings), 1
    while len(found) < limit and (some := list(islice(ahead, width))):
        parts = await asyncio.gather(*(table.read(one, limit, start) for one in some))
        found += [(one, item) for one, items in zip(some, parts, strict=True) for item in items]
        width *= 2
    return found
