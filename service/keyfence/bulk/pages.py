"""Whole lists, page by page."""

from collections.abc import AsyncIterator
from typing import TypeVar

from keyfence.store.entity import M, Query
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import MAX_PAGE_SIZE
from keyfence.store.table import Table

T = TypeVar("T")


async def every(
    table: Table, pattern: Query[M], *, span: ValueRange | None = None, **values: object
) -> AsyncIterator[M]:
    """In the list's own order, which does not depend on how many slots it has."""
    after: str | None = None
    while True:
        page = await table.page(pattern, first=MAX_PAGE_SIZE, after=after, between=span, **values)
        for item in page.items:
            yield item
        if not page.has_next:
            return
        after = page.edges[-1].cursor()


async def chunks(items: AsyncIterator[T], size: int) -> AsyncIterator[list[T]]:
    some: list[T] = []
    async for item in items:
        some.append(item)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
