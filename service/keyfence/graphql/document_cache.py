"""`DocumentCache`: parses and validates each GraphQL document once, computes its cost, and keeps the result."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from graphql import (
    ASTValidationRule,
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    NoUndefinedVariablesRule,
    NoUnusedVariablesRule,
    OperationDefinitionNode,
    OperationType,
    OverlappingFieldsCanBeMergedRule,
    ValuesOfCorrectTypeRule,
    VariablesInAllowedPositionRule,
    parse,
    specified_rules,
    validate,
)
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from keyfence.errors import BadInput
from keyfence.graphql.error_masking import InvalidRequest, RenderedError, render_keyfence_error, render_request_error
from keyfence.graphql.query_cost import CostExpression, cost_of_operation
from keyfence.graphql.query_limits import QueryLimits, check_document, check_text, uses_introspection
from keyfence.graphql.query_selections import Fragments, fragments_of, selected_fields

VALIDATION_RULES = (*specified_rules, MaybeNullValidationRule, OneOfInputValidationRule)
SLOW_RULES: tuple[tuple[type[ASTValidationRule], ...], ...] = (
    (NoUndefinedVariablesRule, NoUnusedVariablesRule, VariablesInAllowedPositionRule),
    (OverlappingFieldsCanBeMergedRule,),
    (ValuesOfCorrectTypeRule,),
)
FAST_RULES = tuple(rule for rule in VALIDATION_RULES if rule not in chain(*SLOW_RULES))
VALIDATION_STEPS = (FAST_RULES, *SLOW_RULES)
"""Groups of rules, each for one step. If the rules of one group find errors, the next groups are not applied."""
MAX_ERRORS = 10
"""How many errors validation reports. Each error costs time, and a client corrects a few at a time."""
CAPACITY = 262_144
"""How many characters all entries together may have."""
ENTRY_WEIGHT = 256
"""How many characters each entry counts in addition to its text. Without them, very many short texts would fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a document, with the facts that are the same for every request."""

    name: str | None
    root_field: str | None
    """The only root field, or None if there are several. Usage is counted by root field, because clients can choose any
    operation name."""
    kind: OperationType
    uses_introspection: bool
    cost: CostExpression


@dataclass(frozen=True, slots=True)
class Document:
    """A valid document and its operations."""

    node: DocumentNode
    operations: tuple[Operation, ...]

    def get_operation(self, name: str | None) -> Operation:
        """Returns the operation of this name, or the only operation if the name is None.

        Raises BadInput if there is no such operation, or if the name is None and there are several operations."""
        matches = [operation for operation in self.operations if name is None or operation.name == name]
        if len(matches) == 1:
            return matches[0]
        if name is not None:
            raise BadInput("the document has no operation of this name", field="operationName")
        raise BadInput("the document has several operations; choose one with operationName", field="operationName")


CacheEntry = Document | tuple[RenderedError, ...]
"""A valid document, or the errors of a text that is no valid document."""


class DocumentCache:
    """The documents that were used last. The lengths of all texts, plus ENTRY_WEIGHT for each text, are at most
    `capacity`."""

    def __init__(self, schema: GraphQLSchema, *, limits: QueryLimits, capacity: int = CAPACITY) -> None:
        self._schema = schema
        self._limits = limits
        self._free_characters = capacity
        self._entries: OrderedDict[str, CacheEntry] = OrderedDict()

    def __contains__(self, text: str) -> bool:
        return text in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, text: str) -> Document:
        """Returns the document. Parses and validates it now if it is not in the cache.

        Raises InvalidRequest if the text is not a valid document within the limits."""
        entry = self._entries.get(text)
        if entry is None:
            *_, entry = self._parse_and_add(text)
        else:
            self._entries.move_to_end(text)
        if isinstance(entry, Document):
            return entry
        raise InvalidRequest(entry or ())

    def parse_in_steps(self, text: str) -> Iterator[None]:
        """Parses and validates a document for the cache, one step for each `next`. Each step takes a few milliseconds
        at most, so that the caller can let other requests run between two steps."""
        if text not in self:
            for _ in self._parse_and_add(text):
                yield

    def _parse_and_add(self, text: str) -> Iterator[CacheEntry | None]:
        """Yields None after each step, and the entry after the last step."""
        for entry in self._parse_and_validate(text):
            if entry is not None:
                self._add(text, entry)
            yield entry

    def _parse_and_validate(self, text: str) -> Iterator[CacheEntry | None]:
        try:
            check_text(text, self._limits)
            node = parse(text, max_lexical_tokens=self._limits.tokens, max_comments=self._limits.tokens)
            yield None
            check_document(node, self._limits)
            yield None
        except BadInput as error:
            yield (render_keyfence_error(error, request_id=""),)
            return
        except GraphQLError as error:
            yield (render_request_error(error),)
            return
        for rules in VALIDATION_STEPS:
            if errors := validate(self._schema, node, rules, max_errors=MAX_ERRORS, hide_suggestions=True):
                yield tuple(map(render_request_error, errors))
                return
            yield None
        yield Document(node, self._operations(node))

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
            uses_introspection=uses_introspection(node, fragments),
            cost=cost_of_operation(node, self._schema, fragments, self._limits),
        )

    def _add(self, text: str, entry: CacheEntry) -> None:
        """Adds the entry unless its text is too long. Drops the least recently used entries if the cache is full."""
        if len(text) <= self._limits.document:
            self._entries[text] = entry
            self._free_characters -= len(text) + ENTRY_WEIGHT
        while self._free_characters < 0:
            oldest_text, _ = self._entries.popitem(last=False)
            self._free_characters += len(oldest_text) + ENTRY_WEIGHT


def _root_field(node: OperationDefinitionNode, fragments: Fragments) -> str | None:
    """Returns the name of the only root field. `__typename` counts only if there is no other field."""
    names = {field.name.value for _, field in selected_fields(node.selection_set.selections, fragments)}
    counted_names = names - {"__typename"} or names
    return next(iter(counted_names)) if len(counted_names) == 1 else None
