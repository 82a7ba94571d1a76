"""The selections of a GraphQL document, with fragments replaced by what they contain."""

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
ConditionedSelection = tuple[str | None, SelectionNode]


def fragments_of(document: DocumentNode) -> Fragments:
    return {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}


def flatten_fragments(selections: Iterable[SelectionNode], fragments: Fragments) -> Iterator[ConditionedSelection]:
    """Yields each selection with the type condition of the fragment that it comes from. Expands each fragment once."""
    stack = _conditioned(selections, None)
    seen: set[str] = set()
    while stack:
        condition, node = stack.pop()
        yield condition, node
        stack.extend(_inside(node, condition, fragments, seen))


def fields(selections: Iterable[SelectionNode], fragments: Fragments) -> Iterator[tuple[str | None, FieldNode]]:
    return (
        (condition, node) for condition, node in flatten_fragments(selections, fragments) if isinstance(node, FieldNode)
    )


def response_name(field: FieldNode) -> str:
    return field.alias.value if field.alias else field.name.value


def children(field_nodes: Iterable[FieldNode]) -> list[SelectionNode]:
    return [child for node in field_nodes if node.selection_set for child in node.selection_set.selections]


def requested_subfields(info: Info[Any, Any], name: str) -> list[Mapping[str, Any]]:
    """Returns the arguments of each selection of the field `name` right below the field that is being resolved.

    Numbers that are written in the document, rather than given by a variable, are returned as text."""
    raw = info._raw_info
    below = fields(children(raw.field_nodes), raw.fragments)
    return [convert_arguments(raw, node.arguments) for _, node in below if node.name.value == name]


def _inside(
    node: SelectionNode, condition: str | None, fragments: Fragments, seen: set[str]
) -> list[ConditionedSelection]:
    if isinstance(node, InlineFragmentNode):
        inner = node.type_condition.name.value if node.type_condition else condition
        return _conditioned(node.selection_set.selections, inner)
    if isinstance(node, FragmentSpreadNode) and node.name.value not in seen and node.name.value in fragments:
        seen.add(node.name.value)
        fragment = fragments[node.name.value]
        return _conditioned(fragment.selection_set.selections, fragment.type_condition.name.value)
    return []


def _conditioned(selections: Iterable[SelectionNode], condition: str | None) -> list[ConditionedSelection]:
    """Returns the selections in reverse, so that the stack returns the first one first."""
    return [(condition, node) for node in selections][::-1]
