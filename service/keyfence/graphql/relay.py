"""`Node`, `Connection`, `Edge`, `PageInfo`."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import strawberry

from keyfence.store.pagination import Edge as StoreEdge
from keyfence.store.pagination import Page

T = TypeVar("T")
U = TypeVar("U")
DEFAULT_PAGE_SIZE = 20


@strawberry.type(description="Where a page stands in its list.")
class PageInfo:
    """Cursors are sealed only when asked for."""

    has_next_page: bool
    has_previous_page: bool
    places: strawberry.Private[Sequence[StoreEdge[Any]]]

    @strawberry.field
    def start_cursor(self) -> str | None:
        return self.places[0].cursor() if self.places else None

    @strawberry.field
    def end_cursor(self) -> str | None:
        return self.places[-1].cursor() if self.places else None


@strawberry.type
class Edge(Generic[T]):
    """A node and its place in the list."""

    node: T
    place: strawberry.Private[Callable[[], str]]

    @strawberry.field
    def cursor(self) -> str:
        return self.place()


@strawberry.type
class Connection(Generic[T]):
    """A page of a list."""

    edges: list[Edge[T]]
    page_info: PageInfo


def page_size(first: int | None) -> int:
    """The page size that was asked for; null asks for the usual one."""
    return DEFAULT_PAGE_SIZE if first is None else first


def page_info(page: Page[Any]) -> PageInfo:
    return PageInfo(has_next_page=page.has_next, has_previous_page=page.has_previous, places=page.edges)


def connection(page: Page[T], shown: Callable[[T], U]) -> Connection[U]:
    edges = [Edge(node=shown(edge.node), place=edge.cursor) for edge in page.edges]
    return Connection(edges=edges, page_info=page_info(page))


@strawberry.interface(description="A thing with an id of its own.")
class Node:
    """What every such thing has."""

    id: strawberry.ID
