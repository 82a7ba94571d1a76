"""Computes the cost of an operation: how many nodes it can return."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    IntValueNode,
    OperationDefinitionNode,
    SelectionNode,
    VariableNode,
    assert_composite_type,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
)

from keyfence.errors import BadInput
from keyfence.graphql.query_limits import QueryLimits
from keyfence.graphql.query_selections import Fragments, child_selections, response_name, selected_fields


@dataclass(frozen=True, slots=True)
class PageSize:
    """The size of a list: the value of `variable`, or `number` if there is no variable or its value is no integer."""

    number: int
    variable: str | None = None

    def evaluate(self, variables: Mapping[str, object]) -> int:
        value = variables.get(self.variable) if self.variable else None
        return max(0, value if isinstance(value, int) else self.number)


@dataclass(frozen=True, slots=True)
class CostTerm:
    """A part of a cost: `factor` times the page size times `cost`."""

    factor: int
    size: PageSize
    cost: "CostExpression"

    def evaluate(self, variables: Mapping[str, object]) -> int:
        return self.factor * self.size.evaluate(variables) * self.cost.evaluate(variables)


@dataclass(frozen=True, slots=True)
class CostExpression:
    """A cost that may depend on variables: a fixed number plus the sum of the terms.

    The expression is computed once for a document, and evaluated for each request with its variables."""

    fixed: int = 0
    terms: tuple[CostTerm, ...] = ()

    def __add__(self, other: "CostExpression") -> "CostExpression":
        return CostExpression(self.fixed + other.fixed, self.terms + other.terms)

    def times(self, size: PageSize) -> "CostExpression":
        """Returns the cost of a list of this size, if this is the cost of one node.

        A fixed size is multiplied now. A size with a variable becomes a new term."""
        if size.variable:
            return CostExpression(0, (CostTerm(1, size, self),))
        number = size.evaluate({})
        return CostExpression(
            self.fixed * number, tuple(replace(term, factor=term.factor * number) for term in self.terms)
        )

    def evaluate(self, variables: Mapping[str, object]) -> int:
        return self.fixed + sum(term.evaluate(variables) for term in self.terms)


PAGE_SIZE_ARGUMENT = "first"
ONE_NODE = PageSize(1)


def cost_of_operation(
    operation: OperationDefinitionNode, schema: GraphQLSchema, fragments: Fragments, limits: QueryLimits
) -> CostExpression:
    """Returns the cost of a valid operation. A field counts even if `@skip` or `@include` leaves it out."""
    root = schema.get_root_type(operation.operation)
    if root is None:
        return CostExpression()
    calculation = _CostCalculation(schema, fragments, PageSize(limits.assumed_list_size))
    return calculation.cost_of_selections(operation.selection_set.selections, root, _Position.NODE, ONE_NODE)


def check_cost(expression: CostExpression, variables: Mapping[str, object], limits: QueryLimits) -> None:
    """Raises BadInput if the cost with these variables exceeds the limit."""
    cost, maximum = expression.evaluate(variables), limits.cost
    if cost > maximum:
        message = f"the operation can return {cost} nodes, more than {maximum}; request smaller pages"
        raise BadInput(message, limit="cost", maximum=maximum, cost=cost)


class _Position(Enum):
    """The type of the object that a field belongs to: a node, a connection, or an edge of a connection.

    The nodes of a connection are counted at the field with `first`. Its edges, and the field `node` of each edge, are
    the same nodes and are not counted again."""

    NODE = "node"
    CONNECTION = "connection"
    EDGE = "edge"


class _CostCalculation:
    """Computes the cost of one operation. `page_size` is the size of the connection that contains a field."""

    def __init__(self, schema: GraphQLSchema, fragments: Fragments, assumed_list_size: PageSize) -> None:
        self.schema = schema
        self.fragments = fragments
        self.assumed_list_size = assumed_list_size

    def cost_of_selections(
        self,
        selections: Iterable[SelectionNode],
        parent_type: GraphQLNamedType,
        position: _Position,
        page_size: PageSize,
    ) -> CostExpression:
        """Adds up the costs of the fields. Selections with the same response name count once, as in the response."""
        merged: defaultdict[tuple[str, str], list[FieldNode]] = defaultdict(list)
        for condition, node in selected_fields(selections, self.fragments):
            merged[condition or parent_type.name, response_name(node)].append(node)
        costs = (
            self._cost_of_field(type_name, same_field, position, page_size)
            for (type_name, _), same_field in merged.items()
        )
        return sum(costs, CostExpression())

    def _cost_of_field(
        self, type_name: str, nodes: list[FieldNode], position: _Position, page_size: PageSize
    ) -> CostExpression:
        name = nodes[0].name.value
        field = self.schema.get_field(assert_composite_type(self.schema.type_map[type_name]), name)
        if field is None or name.startswith("__") or not is_composite_type(get_named_type(field.type)):
            return CostExpression()
        if PAGE_SIZE_ARGUMENT in field.args:
            return self._cost_of_page(field, nodes)
        if is_list_type(get_nullable_type(field.type)):
            return self._cost_of_list(field, nodes, position, page_size)
        return CostExpression(1 if position is _Position.NODE else 0) + self._cost_of_children(field, nodes)

    def _cost_of_page(self, field: GraphQLField, nodes: list[FieldNode]) -> CostExpression:
        size = _page_size(field.args[PAGE_SIZE_ARGUMENT], nodes[0], self.assumed_list_size)
        if is_list_type(get_nullable_type(field.type)):
            return (CostExpression(1) + self._cost_of_children(field, nodes)).times(size)
        return CostExpression(1).times(size) + self._cost_of_children(field, nodes, _Position.CONNECTION, size)

    def _cost_of_list(
        self, field: GraphQLField, nodes: list[FieldNode], position: _Position, page_size: PageSize
    ) -> CostExpression:
        if position is _Position.CONNECTION:
            return self._cost_of_children(field, nodes, _Position.EDGE).times(page_size)
        return (CostExpression(1) + self._cost_of_children(field, nodes)).times(self.assumed_list_size)

    def _cost_of_children(
        self,
        field: GraphQLField,
        nodes: list[FieldNode],
        position: _Position = _Position.NODE,
        page_size: PageSize = ONE_NODE,
    ) -> CostExpression:
        return self.cost_of_selections(child_selections(nodes), get_named_type(field.type), position, page_size)


def _page_size(argument: GraphQLArgument, node: FieldNode, assumed_size: PageSize) -> PageSize:
    """Returns the page size that the selection of the field asks for. If it asks for none: the default of the argument,
    or `assumed_size` if the argument has no default."""
    default = argument.default.value if argument.default else argument.default_value
    default_size = PageSize(default) if isinstance(default, int) else assumed_size
    for sent_argument in node.arguments or ():
        if sent_argument.name.value != PAGE_SIZE_ARGUMENT:
            continue
        if isinstance(sent_argument.value, VariableNode):
            return PageSize(default_size.number, sent_argument.value.name.value)
        if isinstance(sent_argument.value, IntValueNode):
            return PageSize(int(sent_argument.value.value))
    return default_size
