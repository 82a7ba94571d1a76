"""Reads the selections of a GraphQL document, with each fragment replaced by the selections inside it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    SelectionNode,
)
from strawberry.types import Info
from strawberry.types.nodes import convert_arguments

Fragments = Mapping[str, FragmentDefinitionNode]
"""The fragment definitions of a document, by name."""
ConditionedSelection = tuple[str | None, SelectionNode]
"""The type condition of the fragment around a selection (None outside of fragments), and the selection."""


def fragments_of(document: DocumentNode) -> Fragments:
    return {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}


def flatten_fragments(selections: Iterable[SelectionNode], fragments: Fragments) -> Iterator[ConditionedSelection]:
    """Yields the selections, and after each fragment the selections inside it. Expands a named fragment only once."""
    stack = _as_stack(selections, None)
    expanded_names: set[str] = set()
    while stack:
        condition, node = stack.pop()
        yield condition, node
        stack.extend(_expand(node, condition, fragments, expanded_names))


def selected_fields(
    selections: Iterable[SelectionNode], fragments: Fragments
) -> Iterator[tuple[str | None, FieldNode]]:
    """Yields the fields among the selections of `flatten_fragments`, each with its type condition."""
    for condition, node in flatten_fragments(selections, fragments):
        if isinstance(node, FieldNode):
            yield condition, node


def response_name(field: FieldNode) -> str:
    return field.alias.value if field.alias else field.name.value


def child_selections(field_nodes: Iterable[FieldNode]) -> list[SelectionNode]:
    return [child for node in field_nodes if node.selection_set for child in node.selection_set.selections]


def requested_subfields(info: Info[Any, Any], name: str) -> list[Mapping[str, Any]]:
    """Returns the arguments of each selection of the field `name` directly below the field that is being resolved.

    An integer is returned as text if the document contains it, and as an integer if a variable contains it."""
    raw_info = info._raw_info
    subfields = selected_fields(child_selections(raw_info.field_nodes), raw_info.fragments)
    return [convert_arguments(raw_info, node.arguments) for _, node in subfields if node.name.value == name]


def _expand(
    node: SelectionNode, condition: str | None, fragments: Fragments, expanded_names: set[str]
) -> list[ConditionedSelection]:
    """Returns the selections inside a fragment. Returns no selections for a field, or for a fragment in
    `expanded_names`."""
    if isinstance(node, InlineFragmentNode):
        inner_condition = node.type_condition.name.value if node.type_condition else condition
        return _as_stack(node.selection_set.selections, inner_condition)
    if isinstance(node, FragmentSpreadNode) and node.name.value not in expanded_names and node.name.value in fragments:
        expanded_names.add(node.name.value)
        fragment = fragments[node.name.value]
        return _as_stack(fragment.selection_set.selections, fragment.type_condition.name.value)
    return []


def _as_stack(selections: Iterable[SelectionNode], condition: str | None) -> list[ConditionedSelection]:
    """Returns the selections in reverse order, so that `pop` returns the first selection first."""
    return [(condition, node) for node in selections][::-1]
