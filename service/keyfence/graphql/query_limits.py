"""Limits the depth, the aliases, the tokens, the directives and other numbers of a GraphQL document."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphql import DocumentNode, FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionNode

from keyfence.errors import BadInput, Forbidden
from keyfence.graphql.query_selections import (
    Fragments,
    child_selections,
    flatten_fragments,
    fragments_of,
    response_name,
    selected_fields,
)

INTROSPECTION_FIELDS = frozenset({"__schema", "__type"})


def uses_introspection(operation: OperationDefinitionNode, fragments: Fragments) -> bool:
    selections = operation.selection_set.selections
    return any(node.name.value in INTROSPECTION_FIELDS for _, node in selected_fields(selections, fragments))


def introspection_forbidden() -> Forbidden:
    return Forbidden("introspection is not allowed to this caller")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """Limits of one document. A fragment counts each time it is spread.

    If a limit is exceeded, `extensions.limit` of the error is the name of the field below."""

    document: int = 16_384
    """The size of the text in bytes."""
    tokens: int = 1_000
    depth: int = 10
    introspection_depth: int = 20
    """The depth below `__schema` and `__type`. The introspection query of common tools is 15 levels deep."""
    operations: int = 10
    """How many operations one document may define. Validation reads every fragment again for each operation."""
    fragments: int = 50
    """How many fragments one document may define."""
    spreads: int = 150
    """How many fragment spreads and inline fragments all operations may contain."""
    aliases: int = 15
    directives: int = 50
    fields: int = 1_000
    repeats: int = 30
    """How often one selection set may select the same field. Validation compares all pairs of these selections."""
    variables: int = 2_000
    """How many values the variables may contain: each entry of a list and each field of an input object is one."""
    cost: int = 10_000
    """How many nodes one operation may return at most, as `query_cost` computes it."""
    assumed_list_size: int = 50
    """The size that the computed cost assumes for a list without the argument `first`. It is no limit."""


@dataclass(frozen=True, slots=True)
class _SelectionSet:
    """A selection set that is still to be counted, at its depth."""

    selections: Sequence[SelectionNode]
    depth: int
    max_depth: int


def check_text(text: str, limits: QueryLimits) -> None:
    if len(text) > limits.document or (not text.isascii() and len(text.encode()) > limits.document):
        raise _exceeded("document", limits.document, "bytes")


def check_document(document: DocumentNode, limits: QueryLimits) -> None:
    """Raises BadInput if the document exceeds a limit.

    Call it before validation, because the time of validation grows with the square of the limited numbers. Validation
    also reads fragments that no operation uses, so each fragment is checked alone too."""
    fragments = fragments_of(document)
    definitions = [node for node in document.definitions if isinstance(node, FragmentDefinitionNode)]
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if len(operations) > limits.operations:
        raise _exceeded("operations", limits.operations, "operations")
    if len(definitions) > limits.fragments:
        raise _exceeded("fragments", limits.fragments, "fragments")
    if len(definitions) > len(fragments):
        raise BadInput("two fragments have the same name")
    for fragment in definitions:
        counter = _DocumentCounter(limits, fragments)
        counter.count_selections(fragment.selection_set.selections, limits.introspection_depth)
    document_counter = _DocumentCounter(limits, fragments)
    for operation in operations:
        document_counter.count_operation(operation)


def check_variables(variables: Mapping[str, object], limits: QueryLimits) -> None:
    """Raises BadInput if the variables contain too many values.

    Call it before the variables are coerced, because graphql-core needs about a microsecond for each value."""
    values: list[object] = list(variables.values())
    for value in values:  # the list grows while it is read
        if isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)
        if len(values) > limits.variables:
            raise BadInput(
                f"the variables contain more than {limits.variables} values",
                limit="variables",
                maximum=limits.variables,
            )


class _DocumentCounter:
    """Counts fields, spreads, aliases and directives. Raises BadInput at the first limit that is exceeded.

    Fragments that contain each other would be counted forever, but they soon exceed the limit of the depth."""

    def __init__(self, limits: QueryLimits, fragments: Fragments) -> None:
        self.limits = limits
        self.fragments = fragments
        self.aliases = self.directives = self.fields = self.spreads = 0

    def count_operation(self, node: OperationDefinitionNode) -> None:
        self._count_directives(len(node.directives or ()))
        for variable in node.variable_definitions or ():
            self._count_directives(len(variable.directives or ()))
        self.count_selections(node.selection_set.selections, self.limits.depth)

    def count_selections(self, selections: Sequence[SelectionNode], max_depth: int) -> None:
        stack = [_SelectionSet(selections, 1, max_depth)]
        while stack:
            stack.extend(self._count_one_level(stack.pop()))

    def _count_one_level(self, selection_set: _SelectionSet) -> list[_SelectionSet]:
        """Counts the selection set without its children. Returns the selection sets of its fields."""
        if selection_set.depth > selection_set.max_depth:
            raise _exceeded("depth", selection_set.max_depth, "levels of fields")
        return [
            _SelectionSet(selections, selection_set.depth + 1, self._max_depth(selection_set, same_field[0]))
            for same_field in self._count_and_merge(selection_set)
            if (selections := child_selections(same_field))
        ]

    def _count_and_merge(self, selection_set: _SelectionSet) -> list[list[FieldNode]]:
        """Returns the fields of the selection set. Fields with the same response name are together in one list."""
        merged: defaultdict[str, list[FieldNode]] = defaultdict(list)
        for _, node in flatten_fragments(selection_set.selections, self.fragments):
            self._count_directives(len(node.directives or ()))
            if isinstance(node, FieldNode):
                self._count_field(node)
                merged[response_name(node)].append(node)
                if len(merged[response_name(node)]) > self.limits.repeats:
                    raise _exceeded("repeats", self.limits.repeats, "selections of one field in one selection set")
            else:
                self._count_spread()
        return list(merged.values())

    def _max_depth(self, selection_set: _SelectionSet, node: FieldNode) -> int:
        return self.limits.introspection_depth if node.name.value in INTROSPECTION_FIELDS else selection_set.max_depth

    def _count_field(self, node: FieldNode) -> None:
        self.fields += 1
        self.aliases += node.alias is not None
        if self.fields > self.limits.fields:
            raise _exceeded("fields", self.limits.fields, "fields")
        if self.aliases > self.limits.aliases:
            raise _exceeded("aliases", self.limits.aliases, "aliases")

    def _count_spread(self) -> None:
        self.spreads += 1
        if self.spreads > self.limits.spreads:
            raise _exceeded("spreads", self.limits.spreads, "fragment spreads")

    def _count_directives(self, count: int) -> None:
        self.directives += count
        if self.directives > self.limits.directives:
            raise _exceeded("directives", self.limits.directives, "directives")


def _exceeded(limit: str, maximum: int, unit: str) -> BadInput:
    return BadInput(f"the document has more than {maximum} {unit}", limit=limit, maximum=maximum)
