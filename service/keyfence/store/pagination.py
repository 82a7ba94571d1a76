"""`Page` and `Edge`: consecutive items of a list, with their cursors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from keyfence.errors import BadInput

T = TypeVar("T")
MAX_PAGE_SIZE = 100
"""How many items a page may have. The limit bounds the cost of one request."""


@dataclass(frozen=True, slots=True)
class Edge(Generic[T]):
    """An item of a page, with its cursor."""

    node: T
    cursor: Callable[[], str]
    """Returns the cursor. It is a function because encryption takes time, and many queries do not ask for cursors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Consecutive items of a list, and whether there are items after and before them."""

    edges: tuple[Edge[T], ...]
    has_next: bool
    has_previous: bool

    @property
    def items(self) -> tuple[T, ...]:
        return tuple(edge.node for edge in self.edges)


def checked_page_size(first: int) -> int:
    """Returns the page size. Raises BadInput if it is out of range."""
    if not 1 <= first <= MAX_PAGE_SIZE:
        raise BadInput(f"first must be from 1 to {MAX_PAGE_SIZE}", field="first")
    return first
