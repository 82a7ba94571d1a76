"""A page of a list: its items, each with its place, and whether there is more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from keyfence.errors import BadInput

T = TypeVar("T")
MAX_PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class Edge(Generic[T]):
    """An item and the way to its cursor, which is sealed only when somebody asks for it."""

    node: T
    cursor: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some consecutive items of a list."""

    edges: tuple[Edge[T], ...]
    has_next: bool
    has_previous: bool

    @property
    def items(self) -> tuple[T, ...]:
        return tuple(edge.node for edge in self.edges)


def check_page_size(first: int) -> int:
    if not 1 <= first <= MAX_PAGE_SIZE:
        raise BadInput(f"first must be from 1 to {MAX_PAGE_SIZE}", field="first")
    return first
