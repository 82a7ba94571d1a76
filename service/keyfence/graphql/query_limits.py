"""Limits of a document: depth, aliases, tokens, directives and others; and whether it introspects."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from graphql import DocumentNode, FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionNode

from keyfence.errors import BadInput, Forbidden
from keyfence.graphql.query_selections import (
    Fragments,
    children,
    fields,
    flatten_fragments,
    fragments_of,
    response_name,
)

INTROSPECTION = frozenset({"__schema", "__type"})


def introspects(operation: OperationDefinitionNode, fragments: Fragments) -> bool:
    selections = operation.selection_set.selections
    return any(node.name.value in INTROSPECTION for _, node in fields(selections, fragments))


def introspection_forbidden() -> Forbidden:
    return Forbidden("introspection is not allowed to this caller")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """Limits of one document. A fragment counts each time it is spread."""

    document: int = 16_384
    """The size of its text in bytes."""
    tokens: int = 2_000
    depth: int = 10
    introspection_depth: int = 20
    """The limit below `__schema` and `__type`, where the usual introspection query is 15 deep."""
    aliases: int = 15
    directives: int = 50
    fields: int = 1_000
    repeats: int = 30
    """How often one selection set may select the same field. Validation compares each with each."""
    cost: int = 10_000
    """The number of nodes that one operation can return."""
    list_size: int = 50
    """The assumed size of a list without `first`."""


@dataclass(frozen=True, slots=True)
class _SelectionSet:
    selections: Sequence[SelectionNode]
    depth: int
    max_depth: int


def check_text(text: str, limits: QueryLimits) -> None:
    if len(text) > limits.document or (not text.isascii() and len(text.encode()) > limits.document):
        raise _exceeded("document", limits.document, "bytes")


def check_document(document: DocumentNode, limits: QueryLimits) -> None:
    """Raises BadInput if the document exceeds a limit. Call it before validation, whose time grows with the square of
    these numbers. Validation also reads fragments that are not spread, so each fragment is checked on its own too."""
    fragments = fragments_of(document)
    measure = _Measure(limits, fragments)
    named = [node for node in document.definitions if isinstance(node, FragmentDefinitionNode)]
    if len(named) > len(fragments):
        raise BadInput("two fragments have the same name")
    for fragment in named:
        _Measure(limits, fragments).selections(fragment.selection_set.selections, limits.introspection_depth)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            measure.operation(definition)


class _Measure:
    """Counts what a document contains, and raises at the first limit that is exceeded, so cyclic fragments end too."""

    def __init__(self, limits: QueryLimits, fragments: Fragments) -> None:
        self.limits = limits
        self.fragments = fragments
        self.aliases = self.directives = self.fields = 0

    def operation(self, node: OperationDefinitionNode) -> None:
        self._count_directives(len(node.directives or ()))
        for variable in node.variable_definitions or ():
            self._count_directives(len(variable.directives or ()))
        self.selections(node.selection_set.selections, self.limits.depth)

    def selections(self, nodes: Sequence[SelectionNode], max_depth: int) -> None:
        stack = [_SelectionSet(nodes, 1, max_depth)]
        while stack:
            stack.extend(self._below(stack.pop()))

    def _below(self, selection_set: _SelectionSet) -> list[_SelectionSet]:
        if selection_set.depth > selection_set.max_depth:
            raise _exceeded("depth", selection_set.max_depth, "levels of fields")
        return [
            _SelectionSet(inner, selection_set.depth + 1, self._max_depth(selection_set, nodes[0]))
            for nodes in self._merged(selection_set)
            if (inner := children(nodes))
        ]

    def _merged(self, selection_set: _SelectionSet) -> list[list[FieldNode]]:
        merged: defaultdict[str, list[FieldNode]] = defaultdict(list)
        for _, node in flatten_fragments(selection_set.selections, self.fragments):
            self._count_directives(len(node.directives or ()))
            if isinstance(node, FieldNode):
                self._count_field(node)
                merged[response_name(node)].append(node)
                if len(merged[response_name(node)]) > self.limits.repeats:
                    raise _exceeded("repeats", self.limits.repeats, "selections of one field in one selection set")
        return list(merged.values())

    def _max_depth(self, selection_set: _SelectionSet, node: FieldNode) -> int:
        return self.limits.introspection_depth if node.name.value in INTROSPECTION else selection_set.max_depth

    def _count_field(self, node: FieldNode) -> None:
        self.fields += 1
        self.aliases += node.alias is not None
        if self.fields > self.limits.fields:
            raise _exceeded("fields", self.limits.fields, "fields")
        if self.aliases > self.limits.aliases:
            raise _exceeded("aliases", self.limits.aliases, "aliases")

    def _count_directives(self, count: int) -> None:
        self.directives += count
        if self.directives > self.limits.directives:
            raise _exceeded("directives", self.limits.directives, "directives")


def _exceeded(limit: str, maximum: int, unit: str) -> BadInput:
    return BadInput(f"the document has more than {maximum} {unit}", limit=limit, maximum=maximum)
