"""Depth, aliases, tokens, directives; who may introspect."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from graphql import DocumentNode, FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionNode

from keyfence.errors import BadInput, Forbidden
from keyfence.graphql.selections import Fragments, children, fields, flatten_fragments, fragments_of, response_name

INTROSPECTION = frozenset({"__schema", "__type"})


def introspects(operation: OperationDefinitionNode, fragments: Fragments) -> bool:
    selections = operation.selection_set.selections
    return any(node.name.value in INTROSPECTION for _, node in fields(selections, fragments))


def introspection_refused() -> Forbidden:
    return Forbidden("introspection is not allowed to this caller")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """Counts are of the whole document, with fragments counted wherever they are spread."""

    document: int = 16_384
    """Bytes of text."""
    tokens: int = 2_000
    depth: int = 10
    introspection_depth: int = 20
    """Instead of `depth`, below `__schema` and `__type`: the usual introspection query is 15 deep."""
    aliases: int = 15
    directives: int = 50
    fields: int = 1_000
    repeats: int = 30
    """Times that one field is selected at one place: validation compares each with each."""
    cost: int = 10_000
    """Nodes that one operation can return."""
    list_size: int = 50
    """What a list without `first` is taken to hold."""


@dataclass(frozen=True, slots=True)
class _Place:
    selections: Sequence[SelectionNode]
    depth: int
    deepest: int


def check_text(text: str, limits: QueryLimits) -> None:
    if len(text) > limits.document or (not text.isascii() and len(text.encode()) > limits.document):
        raise _exceeded("document", limits.document, "bytes")


def check_document(document: DocumentNode, limits: QueryLimits) -> None:
    """Runs before validation, whose time grows with the square of what is bounded here.

    Validation looks into every fragment, spread or not, so each is measured for itself too."""
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
    """One pass over a document, which stops at the first limit that is exceeded; so a fragment cycle ends too."""

    def __init__(self, limits: QueryLimits, fragments: Fragments) -> None:
        self.limits = limits
        self.fragments = fragments
        self.aliases = self.directives = self.fields = 0

    def operation(self, node: OperationDefinitionNode) -> None:
        self._count_directives(len(node.directives or ()))
        for variable in node.variable_definitions or ():
            self._count_directives(len(variable.directives or ()))
        self.selections(node.selection_set.selections, self.limits.depth)

    def selections(self, nodes: Sequence[SelectionNode], deepest: int) -> None:
        places = [_Place(nodes, 1, deepest)]
        while places:
            places.extend(self._below(places.pop()))

    def _below(self, place: _Place) -> list[_Place]:
        if place.depth > place.deepest:
            raise _exceeded("depth", place.deepest, "levels of fields")
        return [
            _Place(inner, place.depth + 1, self._deepest(place, nodes[0]))
            for nodes in self._merged(place)
            if (inner := children(nodes))
        ]

    def _merged(self, place: _Place) -> list[list[FieldNode]]:
        merged: defaultdict[str, list[FieldNode]] = defaultdict(list)
        for _, node in flatten_fragments(place.selections, self.fragments):
            self._count_directives(len(node.directives or ()))
            if isinstance(node, FieldNode):
                self._count_field(node)
                merged[response_name(node)].append(node)
                if len(merged[response_name(node)]) > self.limits.repeats:
                    raise _exceeded("repeats", self.limits.repeats, "selections of one field at one place")
        return list(merged.values())

    def _deepest(self, place: _Place, node: FieldNode) -> int:
        return self.limits.introspection_depth if node.name.value in INTROSPECTION else place.deepest

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
