"""Asking for the schema itself: `__schema` and `__type`. `__typename` is not part of it."""

from graphql import OperationDefinitionNode

from keyfence.errors import Forbidden
from keyfence.graphql.selections import Fragments, fields

INTROSPECTION = frozenset({"__schema", "__type"})


def introspects(operation: OperationDefinitionNode, fragments: Fragments) -> bool:
    selections = operation.selection_set.selections
    return any(node.name.value in INTROSPECTION for _, node in fields(selections, fragments))


def introspection_refused() -> Forbidden:
    return Forbidden("introspection is not allowed to this caller")
