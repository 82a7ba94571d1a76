"""The cost of an operation: how many nodes it can return."""

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
from keyfence.graphql.query_selections import Fragments, children, fields, response_name


@dataclass(frozen=True, slots=True)
class PageSize:
    """The size of a list: a number, or a variable and the number to use if the variable is not given."""

    number: int
    variable: str | None = None

    def evaluate(self, variables: Mapping[str, object]) -> int:
        value = variables.get(self.variable) if self.variable else None
        return max(0, value if isinstance(value, int) else self.number)


@dataclass(frozen=True, slots=True)
class CostTerm:
    """The product of `factor`, the value of the page size and `cost`."""

    factor: int
    size: PageSize
    cost: "CostExpression"

    def evaluate(self, variables: Mapping[str, object]) -> int:
        return self.factor * self.size.evaluate(variables) * self.cost.evaluate(variables)


@dataclass(frozen=True, slots=True)
class CostExpression:
    """A cost that may depend on variables: the sum of a fixed part and of terms."""

    fixed: int = 0
    terms: tuple[CostTerm, ...] = ()

    def __add__(self, other: "CostExpression") -> "CostExpression":
        return CostExpression(self.fixed + other.fixed, self.terms + other.terms)

    def times(self, size: PageSize) -> "CostExpression":
        if size.variable:
            return CostExpression(0, (CostTerm(1, size, self),))
        number = size.evaluate({})
        return CostExpression(
            self.fixed * number, tuple(replace(term, factor=term.factor * number) for term in self.terms)
        )

    def evaluate(self, variables: Mapping[str, object]) -> int:
        return self.fixed + sum(term.evaluate(variables) for term in self.terms)


PAGE_SIZE_ARGUMENT = "first"
SINGLE = PageSize(1)


def cost_of_operation(
    operation: OperationDefinitionNode, schema: GraphQLSchema, fragments: Fragments, limits: QueryLimits
) -> CostExpression:
    """Returns the cost of a valid operation. It ignores `@skip` and `@include`, so it is the cost of all selections."""
    root = schema.get_root_type(operation.operation)
    calculation = _CostCalculation(schema, fragments, PageSize(limits.list_size))
    return (
        calculation.selection(operation.selection_set.selections, root, _Position.NODE, SINGLE)
        if root
        else CostExpression()
    )


def check_cost(expression: CostExpression, variables: Mapping[str, object], limits: QueryLimits) -> None:
    cost, maximum = expression.evaluate(variables), limits.cost
    if cost > maximum:
        message = f"the operation can return {cost} nodes, more than {maximum}; request smaller pages"
        raise BadInput(message, limit="cost", maximum=maximum, cost=cost)


class _Position(Enum):
    """The position of a field. The nodes of a page are counted at the field with `first`, so that fields inside a
    connection and its edges are not counted again."""

    NODE = "node"
    CONNECTION = "connection"
    EDGE = "edge"


class _CostCalculation:
    def __init__(self, schema: GraphQLSchema, fragments: Fragments, list_size: PageSize) -> None:
        self.schema = schema
        self.fragments = fragments
        self.list_size = list_size

    def selection(
        self, nodes: Iterable[SelectionNode], parent: GraphQLNamedType, position: _Position, page: PageSize
    ) -> CostExpression:
        """Adds up the fields of a selection set, merged as execution merges them."""
        merged: defaultdict[tuple[str, str], list[FieldNode]] = defaultdict(list)
        for condition, node in fields(nodes, self.fragments):
            merged[condition or parent.name, response_name(node)].append(node)
        return sum(
            (self._field(owner, group, position, page) for (owner, _), group in merged.items()), CostExpression()
        )

    def _field(self, owner: str, nodes: list[FieldNode], position: _Position, page: PageSize) -> CostExpression:
        name = nodes[0].name.value
        field = self.schema.get_field(assert_composite_type(self.schema.type_map[owner]), name)
        if field is None or name.startswith("__") or not is_composite_type(get_named_type(field.type)):
            return CostExpression()
        if PAGE_SIZE_ARGUMENT in field.args:
            return self._page(field, nodes)
        if is_list_type(get_nullable_type(field.type)):
            return self._list(field, nodes, position, page)
        return CostExpression(1 if position is _Position.NODE else 0) + self._inside(field, nodes)

    def _page(self, field: GraphQLField, nodes: list[FieldNode]) -> CostExpression:
        size = _page_size(field.args[PAGE_SIZE_ARGUMENT], nodes[0], self.list_size)
        if is_list_type(get_nullable_type(field.type)):
            return (CostExpression(1) + self._inside(field, nodes)).times(size)
        return CostExpression(1).times(size) + self._inside(field, nodes, _Position.CONNECTION, size)

    def _list(self, field: GraphQLField, nodes: list[FieldNode], position: _Position, page: PageSize) -> CostExpression:
        if position is _Position.CONNECTION:
            return self._inside(field, nodes, _Position.EDGE).times(page)
        return (CostExpression(1) + self._inside(field, nodes)).times(self.list_size)

    def _inside(
        self, field: GraphQLField, nodes: list[FieldNode], position: _Position = _Position.NODE, page: PageSize = SINGLE
    ) -> CostExpression:
        return self.selection(children(nodes), get_named_type(field.type), position, page)


def _page_size(argument: GraphQLArgument, node: FieldNode, unknown: PageSize) -> PageSize:
    default = argument.default.value if argument.default else argument.default_value
    size = PageSize(default) if isinstance(default, int) else unknown
    for one in node.arguments or ():
        if one.name.value == PAGE_SIZE_ARGUMENT and isinstance(one.value, VariableNode):
            return PageSize(size.number, one.value.name.value)
        if one.name.value == PAGE_SIZE_ARGUMENT and isinstance(one.value, IntValueNode):
            return PageSize(int(one.value.value))
    return size
