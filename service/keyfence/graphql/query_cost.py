"""How many nodes an operation can return."""

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
from keyfence.graphql.selections import Fragments, children, fields, response_name


@dataclass(frozen=True, slots=True)
class PageSize:
    """How many items a list has: a number, or a variable and the number that stands for its absence."""

    number: int
    variable: str | None = None

    def of(self, variables: Mapping[str, object]) -> int:
        value = variables.get(self.variable) if self.variable else None
        return max(0, value if isinstance(value, int) else self.number)


@dataclass(frozen=True, slots=True)
class CostTerm:
    """`times` the variable's value times `price`."""

    times: int
    size: PageSize
    price: "CostExpression"

    def of(self, variables: Mapping[str, object]) -> int:
        return self.times * self.size.of(variables) * self.price.of(variables)


@dataclass(frozen=True, slots=True)
class CostExpression:
    """A fixed part and parts that variables multiply; where no page size is a variable, all of it is fixed."""

    fixed: int = 0
    terms: tuple[CostTerm, ...] = ()

    def __add__(self, other: "CostExpression") -> "CostExpression":
        return CostExpression(self.fixed + other.fixed, self.terms + other.terms)

    def times(self, size: PageSize) -> "CostExpression":
        if size.variable:
            return CostExpression(0, (CostTerm(1, size, self),))
        number = size.of({})
        return CostExpression(
            self.fixed * number, tuple(replace(term, times=term.times * number) for term in self.terms)
        )

    def of(self, variables: Mapping[str, object]) -> int:
        return self.fixed + sum(term.of(variables) for term in self.terms)


PAGE_SIZE = "first"
ONE = PageSize(1)


def cost_of_operation(
    operation: OperationDefinitionNode, schema: GraphQLSchema, fragments: Fragments, limits: QueryLimits
) -> CostExpression:
    """For a valid operation. `@skip` and `@include` are not read: the price is that of everything included."""
    root = schema.get_root_type(operation.operation)
    pricing = _Pricing(schema, fragments, PageSize(limits.list_size))
    return pricing.selection(operation.selection_set.selections, root, _Within.NODE, ONE) if root else CostExpression()


def check_cost(price: CostExpression, variables: Mapping[str, object], limits: QueryLimits) -> None:
    cost, most = price.of(variables), limits.cost
    if cost > most:
        message = f"the operation can return {cost} nodes, more than {most}: ask for smaller pages"
        raise BadInput(message, limit="cost", maximum=most, cost=cost)


class _Within(Enum):
    """A page's nodes are paid where `first` stands, so that its `edges`, `node` and `pageInfo` come free."""

    NODE = "node"
    CONNECTION = "connection"
    EDGE = "edge"


class _Pricing:
    def __init__(self, schema: GraphQLSchema, fragments: Fragments, list_size: PageSize) -> None:
        self.schema = schema
        self.fragments = fragments
        self.list_size = list_size

    def selection(
        self, nodes: Iterable[SelectionNode], parent: GraphQLNamedType, within: _Within, page: PageSize
    ) -> CostExpression:
        """The fields of one place, merged as execution merges them."""
        merged: defaultdict[tuple[str, str], list[FieldNode]] = defaultdict(list)
        for condition, node in fields(nodes, self.fragments):
            merged[condition or parent.name, response_name(node)].append(node)
        return sum((self._field(owner, group, within, page) for (owner, _), group in merged.items()), CostExpression())

    def _field(self, owner: str, nodes: list[FieldNode], within: _Within, page: PageSize) -> CostExpression:
        name = nodes[0].name.value
        field = self.schema.get_field(assert_composite_type(self.schema.type_map[owner]), name)
        if field is None or name.startswith("__") or not is_composite_type(get_named_type(field.type)):
            return CostExpression()
        if PAGE_SIZE in field.args:
            return self._page(field, nodes)
        if is_list_type(get_nullable_type(field.type)):
            return self._list(field, nodes, within, page)
        return CostExpression(1 if within is _Within.NODE else 0) + self._inside(field, nodes)

    def _page(self, field: GraphQLField, nodes: list[FieldNode]) -> CostExpression:
        size = _page_size(field.args[PAGE_SIZE], nodes[0], self.list_size)
        if is_list_type(get_nullable_type(field.type)):
            return (CostExpression(1) + self._inside(field, nodes)).times(size)
        return CostExpression(1).times(size) + self._inside(field, nodes, _Within.CONNECTION, size)

    def _list(self, field: GraphQLField, nodes: list[FieldNode], within: _Within, page: PageSize) -> CostExpression:
        if within is _Within.CONNECTION:
            return self._inside(field, nodes, _Within.EDGE).times(page)
        return (CostExpression(1) + self._inside(field, nodes)).times(self.list_size)

    def _inside(
        self, field: GraphQLField, nodes: list[FieldNode], within: _Within = _Within.NODE, page: PageSize = ONE
    ) -> CostExpression:
        return self.selection(children(nodes), get_named_type(field.type), within, page)


def _page_size(argument: GraphQLArgument, node: FieldNode, unknown: PageSize) -> PageSize:
    default = argument.default.value if argument.default else argument.default_value
    size = PageSize(default) if isinstance(default, int) else unknown
    for given in node.arguments or ():
        if given.name.value == PAGE_SIZE and isinstance(given.value, VariableNode):
            return PageSize(size.number, given.value.name.value)
        if given.name.value == PAGE_SIZE and isinstance(given.value, IntValueNode):
            return PageSize(int(given.value.value))
    return size
