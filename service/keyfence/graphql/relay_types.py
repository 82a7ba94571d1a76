"""Relay types: `Node`, `Connection`, `Edge`, `PageInfo`."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import strawberry

from keyfence.store.pagination import Edge as StoreEdge
from keyfence.store.pagination import Page

T = TypeVar("T")
U = TypeVar("U")
DEFAULT_PAGE_SIZE = 20


@strawberry.type(description="Whether there are items before and after a page, and the cursors of its ends.")
class PageInfo:
    """Cursors are made only if the request selects them, since each has to be encrypted."""

    has_next_page: bool
    has_previous_page: bool
    store_edges: strawberry.Private[Sequence[StoreEdge[Any]]]

    @strawberry.field
    def start_cursor(self) -> str | None:
        return self.store_edges[0].cursor() if self.store_edges else None

    @strawberry.field
    def end_cursor(self) -> str | None:
        return self.store_edges[-1].cursor() if self.store_edges else None


@strawberry.type
class Edge(Generic[T]):
    """A node and its cursor in the list."""

    node: T
    make_cursor: strawberry.Private[Callable[[], str]]

    @strawberry.field
    def cursor(self) -> str:
        return self.make_cursor()


@strawberry.type
class Connection(Generic[T]):
    """A page of a list."""

    edges: list[Edge[T]]
    page_info: PageInfo


def page_size(first: int | None) -> int:
    """Returns the page size that the request asks for. Null means the default."""
    return DEFAULT_PAGE_SIZE if first is None else first


def page_info(page: Page[Any]) -> PageInfo:
    return PageInfo(has_next_page=page.has_next, has_previous_page=page.has_previous, store_edges=page.edges)


def connection(page: Page[T], to_type: Callable[[T], U]) -> Connection[U]:
    edges = [Edge(node=to_type(edge.node), make_cursor=edge.cursor) for edge in page.edges]
    return Connection(edges=edges, page_info=page_info(page))


@strawberry.interface(description="An object with an id that is unique in the tenant.")
class Node:
    """The interface of all types that `node(id)` returns."""

    id: strawberry.ID
