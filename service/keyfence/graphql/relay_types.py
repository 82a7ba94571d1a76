"""The types of the Relay specification: `Node`, `Connection`, `Edge`, `PageInfo`."""

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
    """The page info of a connection. Encrypting a cursor takes time, so a cursor is made only if it is selected."""

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
    """A node of a page, with the cursor that marks its position in the list."""

    node: T
    make_cursor: strawberry.Private[Callable[[], str]]

    @strawberry.field
    def cursor(self) -> str:
        return self.make_cursor()


@strawberry.type
class Connection(Generic[T]):
    """One page of a list."""

    edges: list[Edge[T]]
    page_info: PageInfo


def page_size(first: int | None) -> int:
    """Returns the page size for the argument `first`. Null means the default size."""
    return DEFAULT_PAGE_SIZE if first is None else first


def page_info(page: Page[Any]) -> PageInfo:
    return PageInfo(has_next_page=page.has_next, has_previous_page=page.has_previous, store_edges=page.edges)


def connection(page: Page[T], to_type: Callable[[T], U]) -> Connection[U]:
    """Returns the connection for a page of the store. `to_type` converts a stored object to its GraphQL type."""
    edges = [Edge(node=to_type(edge.node), make_cursor=edge.cursor) for edge in page.edges]
    return Connection(edges=edges, page_info=page_info(page))


@strawberry.interface(description="An object with an id that is unique in the tenant.")
class Node:
    """The interface of all types that the root field `node(id)` can return."""

    id: strawberry.ID
