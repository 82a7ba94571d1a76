"""`CategoryRepository`: reads and creates the categories of one tenant."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from keyfence.domains.categories.access_patterns import categories, category_by_path, category_tree
from keyfence.domains.categories.model import Category, is_visible
from keyfence.errors import BadInput, Conflict, KeyfenceError
from keyfence.store import timestamps
from keyfence.store.expressions import absent, present
from keyfence.store.key_template import KeyPath, checked_path
from keyfence.store.keys import ValueRange
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, StaleWrite, Write, check, put, retry_if_stale


async def read_tree(table: Table, root: KeyPath | None = None) -> list[Category]:
    """Returns the category `root` and everything below it. Without a root, returns the complete tree.

    Parents come before their children."""
    subtree = None if root is None else ValueRange(low=root, high=root)
    return [category async for category in table.iterate(category_tree, between=subtree)]


CATEGORY_EXISTS = partial(Conflict, "the category exists already")


class ParentUnavailable(Conflict):
    """Raised if no category can be added to a parent category, because it does not exist or is being moved."""

    def __init__(self) -> None:
        super().__init__("no category can be added to the parent category now")


def require_parent(path: KeyPath) -> Iterator[Write[Any]]:
    """Yields the check that the parent exists and is not being moved. Yields nothing for a category at the top."""
    if len(path) > 1:
        accepts_children = present() & absent("moveState")
        yield check(categories, {"path": path[:-1]}, when=accepts_children, on_failure=ParentUnavailable)


async def parent_error(table: Table, path: KeyPath, field: str) -> KeyfenceError:
    """Returns the error that says why the parent of this path was unavailable. `field` is the GraphQL argument."""
    parent = await table.find(category_by_path, path=path[:-1])
    if parent is None:
        return BadInput("the parent category does not exist; create it first", field=field)
    if parent.move_state:
        return Conflict("the parent category is being moved; retry when the move has finished", field=field)
    return StaleWrite()


@dataclass(frozen=True, slots=True)
class CategoryRepository:
    """The categories of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def subtree(self, path: Sequence[str] | None = None) -> list[Category]:
        """Returns the category at the path and everything below it. Without a path, returns the complete tree.

        Returns an empty list if the category does not exist."""
        root = None if path is None else checked_path(path, "under")
        return [category for category in await read_tree(self.table, root) if is_visible(category)]

    async def create(self, path: Sequence[str]) -> Category:
        now = self.now()
        category = Category(path=checked_path(path, "path"), created_at=now, updated_at=now)
        await retry_if_stale(lambda: self._create(category))
        return category

    async def _create(self, category: Category) -> None:
        write = put(categories, category, when=absent(), on_failure=CATEGORY_EXISTS)
        note = ActivityNote("category.created", None, {"after": {"path": category.path}})
        try:
            await self.table.write(write, *require_parent(category.path), note=note)
        except ParentUnavailable:
            raise await parent_error(self.table, category.path, "path") from None
