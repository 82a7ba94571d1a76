"""The tree of categories, read from any place in it."""

from keyfence.domains.categories.access import category_tree
from keyfence.domains.categories.model import Category
from keyfence.store.pagination import LARGEST
from keyfence.store.path import Path
from keyfence.store.stretch import Span
from keyfence.store.table import Table


async def tree(table: Table, root: Path | None = None) -> list[Category]:
    """A category and all below it, or everything, parents before their children; one Query for each hundred."""
    span = None if root is None else Span(low=root, high=root)
    found: list[Category] = []
    after: str | None = None
    while True:
        page = await table.page(category_tree, first=LARGEST, after=after, span=span)
        found += page.items
        if not page.has_next:
            return found
        after = page.edges[-1].cursor()
