"""`build_schema`: one GraphQL schema from the query and mutation classes of many domains."""

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
"""Returns the node with this id, or None if the tenant has none."""


def build_schema(
    *,
    queries: Sequence[type],
    mutations: Sequence[type],
    types: Iterable[type] = (),
    nodes: Mapping[str, NodeLoader] | None = None,
) -> strawberry.Schema:
    """Joins the fields of all `queries` and all `mutations`. `nodes` has a loader for each id prefix of `node(id)`.

    `types` are those that only `node(id)` returns, so that no other field leads to them."""
    return strawberry.Schema(
        query=_join("Query", (*queries, _node_query(nodes or {}))),
        mutation=_join("Mutation", mutations) if mutations else None,
        types=list(types),
        execution_context_class=FastScalarExecutor,
        config=StrawberryConfig(scalar_map=SCALARS, disable_field_suggestions=True),
    )


def _join(name: str, classes: Sequence[type]) -> Any:
    return strawberry.type(type(name, tuple(classes), {}))


def _node_query(nodes: Mapping[str, NodeLoader]) -> type:
    @strawberry.type
    class NodeQuery:
        @strawberry.field(description="Anything by its id; null where there is no such thing.")
        async def node(self, info: Info, id: strawberry.ID) -> Node | None:
            load = nodes.get(prefix_of(id) or "")
            return await load(info.context, id) if load else None

    return NodeQuery
