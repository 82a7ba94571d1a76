"""`build_schema`: joins the query and mutation classes of all domains into one GraphQL schema."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import strawberry
from strawberry.schema.config import StrawberryConfig

from keyfence.graphql.context import Context, Info
from keyfence.graphql.executor import FastScalarExecutor
from keyfence.graphql.relay_types import Node
from keyfence.graphql.scalars import SCALARS
from keyfence.store.ids import prefix_of

NodeLoader = Callable[[Context, str], Awaitable[Node | None]]
"""A function that returns the node with an id, or None if the tenant has no such node."""


def build_schema(
    *,
    queries: Sequence[type],
    mutations: Sequence[type],
    types: Iterable[type] = (),
    node_loaders: Mapping[str, NodeLoader] | None = None,
) -> strawberry.Schema:
    """Returns a schema with the fields of all `queries` and `mutations`, and with the root field `node(id)`.

    `node_loaders` has the loader for each prefix that an id can have. `types` has the types that only `node(id)`
    returns, which strawberry cannot find through another field."""
    return strawberry.Schema(
        query=_join("Query", (*queries, _node_query(node_loaders or {}))),
        mutation=_join("Mutation", mutations) if mutations else None,
        types=list(types),
        execution_context_class=FastScalarExecutor,
        config=StrawberryConfig(scalar_map=SCALARS, disable_field_suggestions=True),
    )


def _join(name: str, classes: Sequence[type]) -> Any:
    return strawberry.type(type(name, tuple(classes), {}))


def _node_query(node_loaders: Mapping[str, NodeLoader]) -> type:
    @strawberry.type
    class NodeQuery:
        @strawberry.field(description="The object with this id, or null if the tenant has no such object.")
        async def node(self, info: Info, id: strawberry.ID) -> Node | None:
            load = node_loaders.get(prefix_of(id) or "")
            return await load(info.context, id) if load else None

    return NodeQuery
