"""Tree reads, create."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.categories.access_patterns import categories, category_by_path, category_tree
from keyfence.domains.categories.model import Category, is_shown
from keyfence.errors import BadInput, Conflict, KeyfenceError
from keyfence.store import timestamps
from keyfence.store.expressions import absent, present
from keyfence.store.key_template import KeyPath, checked_path
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import MAX_PAGE_SIZE
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, StaleWrite, Write, check, put, retry_if_stale


async def read_tree(table: Table, root: KeyPath | None = None) -> list[Category]:
    """A category and all below it, or everything, parents before their children; one Query for each hundred."""
    span = None if root is None else ValueRange(low=root, high=root)
    found: list[Category] = []
    after: str | None = None
    while True:
        page = await table.page(category_tree, first=MAX_PAGE_SIZE, after=after, between=span)
        found += page.items
        if not page.has_next:
            return found
        after = page.edges[-1].cursor()


EXISTS = partial(Conflict, "there is such a category already")


class ParentUnavailable(Conflict):
    """The category above takes no other: it is not there, or it is being moved."""

    def __init__(self) -> None:
        super().__init__("the category above takes no other just now")


def require_parent(path: KeyPath) -> Iterator[Write[Any]]:
    """What must hold for a category to stand at this path; the top of the tree is always there."""
    if len(path) > 1:
        takes = present() & absent("moving")
        yield check(categories, {"path": path[:-1]}, when=takes, on_failure=ParentUnavailable)


async def closed_because(table: Table, path: KeyPath, field: str) -> KeyfenceError:
    parent = await table.find(category_by_path, path=path[:-1])
    if parent is None:
        return BadInput("there is no such category to put it under; create that first", field=field)
    if parent.moving:
        return Conflict("the category above is being moved; retry when it has arrived", field=field)
    return StaleWrite()


@dataclass(frozen=True, slots=True)
class CategoryRepository:
    """What can be asked and done about categories."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def under(self, path: Sequence[str] | None = None) -> list[Category]:
        """A category and everything below it, or the whole tree; none where there is no such category."""
        root = None if path is None else checked_path(path, "under")
        return [category for category in await read_tree(self.table, root) if is_shown(category)]

    async def create(self, path: Sequence[str]) -> Category:
        now = self.now()
        category = Category(path=checked_path(path, "path"), created_at=now, updated_at=now)
        await retry_if_stale(lambda: self._create(category))
        return category

    async def _create(self, category: Category) -> None:
        made = put(categories, category, when=absent(), on_failure=EXISTS)
        note = ActivityNote("category.created", None, {"after": {"path": category.path}})
        try:
            await self.table.write(made, *require_parent(category.path), note=note)
        except ParentUnavailable:
            raise await closed_because(self.table, category.path, "path") from None
