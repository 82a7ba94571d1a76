"""`DocumentCache`: parsed and validated documents with their limits checked and their cost computed, by text."""

from collections import OrderedDict
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    parse,
    specified_rules,
    validate,
)
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from keyfence.errors import BadInput
from keyfence.graphql.error_masking import InvalidRequest, RenderedError, render, render_request_error
from keyfence.graphql.query_cost import CostExpression, cost_of_operation
from keyfence.graphql.query_limits import QueryLimits, check_document, check_text, introspects
from keyfence.graphql.query_selections import Fragments, fields, fragments_of

RULES = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)
ENTRY_WEIGHT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of a document."""

    name: str | None
    root_field: str | None
    """Its only root field, or None if it has several. Usage is counted by it, not by the name that a client chose."""
    kind: OperationType
    introspects: bool
    cost: CostExpression


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document and its operations."""

    node: DocumentNode
    operations: tuple[Operation, ...]

    def operation(self, name: str | None) -> Operation:
        found = [operation for operation in self.operations if name is None or operation.name == name]
        if len(found) == 1:
            return found[0]
        if name is not None:
            raise BadInput("the document has no operation of this name", field="operationName")
        raise BadInput("the document has several operations; choose one with operationName", field="operationName")


class DocumentCache:
    """The documents that were used last. `capacity` bounds the characters of all texts."""

    def __init__(self, schema: GraphQLSchema, *, limits: QueryLimits, capacity: int = 262_144) -> None:
        self._schema = schema
        self._limits = limits
        self._free = capacity
        self._entries: OrderedDict[str, Document | tuple[RenderedError, ...]] = OrderedDict()

    def get(self, text: str) -> Document:
        known = self._entries.get(text)
        if known is None:
            known = self._store(text, self._load(text))
        else:
            self._entries.move_to_end(text)
        if isinstance(known, Document):
            return known
        raise InvalidRequest(known)

    def __len__(self) -> int:
        return len(self._entries)

    def _load(self, text: str) -> Document | tuple[RenderedError, ...]:
        try:
            check_text(text, self._limits)
            node = parse(text, max_lexical_tokens=self._limits.tokens, max_comments=self._limits.tokens)
            check_document(node, self._limits)
        except BadInput as error:
            return (render(error, request_id=""),)
        except GraphQLError as error:
            return (render_request_error(error),)
        errors = validate(self._schema, node, RULES, hide_suggestions=True)
        return tuple(map(render_request_error, errors)) or Document(node, self._operations(node))

    def _operations(self, node: DocumentNode) -> tuple[Operation, ...]:
        fragments = fragments_of(node)
        return tuple(
            self._operation(definition, fragments)
            for definition in node.definitions
            if isinstance(definition, OperationDefinitionNode)
        )

    def _operation(self, node: OperationDefinitionNode, fragments: Fragments) -> Operation:
        return Operation(
            name=node.name.value if node.name else None,
            root_field=_root_field(node, fragments),
            kind=node.operation,
            introspects=introspects(node, fragments),
            cost=cost_of_operation(node, self._schema, fragments, self._limits),
        )

    def _store(self, text: str, known: Document | tuple[RenderedError, ...]) -> Document | tuple[RenderedError, ...]:
        if len(text) <= self._limits.document:
            self._entries[text] = known
            self._free -= len(text) + ENTRY_WEIGHT
        while self._free < 0:
            oldest, _ = self._entries.popitem(last=False)
            self._free += len(oldest) + ENTRY_WEIGHT
        return known


def _root_field(node: OperationDefinitionNode, fragments: Fragments) -> str | None:
    names = {field.name.value for _, field in fields(node.selection_set.selections, fragments)}
    distinct = names - {"__typename"} or names
    return next(iter(distinct)) if len(distinct) == 1 else None
