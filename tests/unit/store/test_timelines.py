"""Days and months of a timeline read as one list, newest first, whole through any cursor."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import BadInput
from service.store.entity import Query
from service.store.page import Page
from service.store.shards import ShardMap
from service.store.stretch import Span
from service.store.table import Table
from service.store.timeline import timeline

from .bookshop import OPENING, Visit, latest_visits, visits, visits_of
from .scripted import table
from .shelves import Shelves

ALWAYS = Span()
OLDEST, NEWEST = OPENING, OPENING + timedelta(days=70)
HOURS = st.integers(0, 69 * 24)
VISITS = st.lists(HOURS, unique=True, max_size=20)


def visit(hour: int) -> Visit:
    at = OPENING + timedelta(hours=hour)
    return Visit(id=f"v{hour:04d}", visitor="ann", created_at=at, updated_at=at)


async def shown(
    handle: Table, pattern: Query[Visit], first: int, after: str | None = None, span: Span = ALWAYS, **values: object
) -> Page[Visit]:
    return await timeline(handle, pattern, span=span, first=first, after=after, oldest=OLDEST, newest=NEWEST, **values)


async def walked(handle: Table, pattern: Query[Visit], first: int, span: Span, **values: object) -> list[Visit]:
    page = await shown(handle, pattern, first, None, span, **values)
    found = [*page.items]
    while page.has_next:
        assert len(page.items) == first
        page = await shown(handle, pattern, first, page.edges[-1].cursor(), span, **values)
        assert page.has_previous
        found += page.items
    return found


@settings(max_examples=60)
@given(VISITS, st.none() | HOURS, st.none() | HOURS, st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_a_timeline_is_what_happened_in_its_span_newest_first(
    hours: Sequence[int], low: int | None, high: int | None, first: int, slots: int, by_visitor: bool
) -> None:
    shelves, shards = Shelves(page=3), ShardMap({"visits": slots})
    kept = [visit(hour) for hour in hours]
    shelves.keep(visits, *kept, shards=shards)
    low_at, high_at = (None if hour is None else OPENING + timedelta(hours=hour) for hour in (low, high))
    handle, span = table(shelves, shards=shards), Span(low=low_at, high=high_at)
    if by_visitor:
        found = asyncio.run(walked(handle, visits_of, first, span, visitor="ann"))
    else:
        found = asyncio.run(walked(handle, latest_visits, first, span))
    wanted = [one for one in kept if (low_at or OLDEST) <= one.created_at <= (high_at or NEWEST)]
    assert found == sorted(wanted, key=lambda one: one.created_at, reverse=True)


async def test_a_busy_day_costs_one_query_and_empty_days_are_read_together() -> None:
    shelves = Shelves()
    shelves.keep(visits, *(visit(70 * 24 + hour) for hour in range(-3, 1)))
    page = await shown(table(shelves), latest_visits, 3)
    assert (len(page.items), len(shelves.calls)) == (3, 1)
    await shown(table(shelves), latest_visits, 3, page.edges[-1].cursor())
    assert len(shelves.calls) - 1 == 71


async def test_earlier_days_are_not_read_again() -> None:
    shelves = Shelves()
    shelves.keep(visits, visit(30 * 24), visit(1))
    page = await shown(table(shelves), latest_visits, 1)
    shelves.calls.clear()
    await shown(table(shelves), latest_visits, 1, page.edges[0].cursor())
    assert shelves.calls[0].parameters["ExpressionAttributeValues"][":p"]["S"] == "TENANT#acme#VISITS#2026-12-01#00"


async def test_a_cursor_belongs_to_its_span_and_its_visitor() -> None:
    shelves = Shelves()
    shelves.keep(visits, visit(1), visit(2))
    page = await shown(table(shelves), visits_of, 1, visitor="ann")
    after = page.edges[0].cursor()
    for span, visitor in ((Span(low=OPENING), "ann"), (ALWAYS, "bob")):
        with pytest.raises(BadInput, match="not one of this list"):
            await shown(table(shelves), visits_of, 1, after, span, visitor=visitor)
