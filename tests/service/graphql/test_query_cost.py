"""The cost of an operation is the number of nodes that it can return."""

import pytest
from graphql import OperationDefinitionNode, parse
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.graphql.query_cost import CostExpression, PageSize, check_cost, cost_of_operation
from keyfence.graphql.query_limits import QueryLimits
from keyfence.graphql.query_selections import fragments_of
from tests.service.graphql.bookshop_schema import bookshop

LIMITS = QueryLimits()


def cost_of(text: str) -> CostExpression:
    document = parse(text)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    return cost_of_operation(operation, bookshop._schema, fragments_of(document), LIMITS)


BOOKS = "edges { cursor node { title } } pageInfo { endCursor }"


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("{ __typename caller }", 0),
        ("{ book(id: 1) { title } }", 1),
        ("{ book(id: 1) { sequel { sequel { title } } } }", 3),
        (f"{{ books {{ {BOOKS} }} }}", 20),
        (f"{{ books(first: 7) {{ {BOOKS} }} }}", 7),
        (f"{{ books(first: null) {{ {BOOKS} }} }}", 20),
        (f"{{ books(first: 1000) {{ {BOOKS} }} }}", 1000),
        (f"{{ books(first: -5) {{ {BOOKS} }} }}", 0),
        ("{ books { pageInfo { endCursor } } }", 20),
        (f"{{ a: books(first: 7) {{ {BOOKS} }} b: books(first: 7) {{ {BOOKS} }} }}", 14),
        (f"{{ books(first: 7) {{ {BOOKS} }} books(first: 7) {{ pageInfo {{ hasNextPage }} }} }}", 7),
        ("{ book(id: 1) { tags { name } } }", 1 + 50),
        ("{ book(id: 1) { tagged { name } } }", 1 + 10),
        ("{ book(id: 1) { tagged(first: 3) { name } } }", 1 + 3),
        ("{ books { edges { node { sequel { title } } } } }", 20 + 20),
        ("{ books { edges { node { tags { name } } } } }", 20 + 20 * 50),
        ("{ books { edges { node { authors { edges { node { name } } } } } } }", 20 + 400),
        ("{ books(first: 5) { edges { node { authors(first: 4) { edges { node { name } } } } } } }", 5 + 20),
        ("{ __schema { types { fields { name } } } }", 0),
        ('mutation { add(book: {title: "x"}) { title } }', 1),
        ("query ($n: Int = 6) { books(first: $n) { edges { cursor } } }", 20),
        (f"{{ ...F }} fragment F on Query {{ books(first: 7) {{ {BOOKS} }} }}", 7),
        (f"{{ ... on Query {{ ... {{ books(first: 7) {{ {BOOKS} }} }} }} }}", 7),
        ("{ a: book(id: 1) { ...F } b: book(id: 2) { ...F } } fragment F on Book { x: tagged(first: 3) { name } }", 8),
        ("{ books @skip(if: true) { edges { cursor } } }", 20),
    ],
)
def test_an_operation_without_variables_costs_the_nodes_that_it_can_return(text: str, cost: int) -> None:
    assert cost_of(text).evaluate({}) == cost


NESTED = """query ($n: Int, $m: Int) {
  books(first: $n) { edges { node { authors(first: $m) { edges { node { books(first: 2) { edges { cursor } } } } } } } }
}"""


@pytest.mark.parametrize(
    ("variables", "cost"),
    [
        ({}, 20 + 400 + 800),
        ({"n": 3}, 3 + 60 + 120),
        ({"n": 3, "m": 5}, 3 + 15 + 30),
        ({"n": None, "m": 5}, 20 + 100 + 200),
        ({"n": -3, "m": 5}, 0),
        ({"n": 1000, "m": 1000}, 1000 + 10**6 + 2 * 10**6),
    ],
)
def test_the_cost_of_an_operation_follows_its_variables(variables: dict[str, object], cost: int) -> None:
    assert cost_of(NESTED).evaluate(variables) == cost


def test_the_cost_of_literal_page_sizes_is_computed_once() -> None:
    assert cost_of("{ books { edges { node { authors { edges { cursor } } } } } }") == CostExpression(420)


def test_three_nested_lists_of_default_size_are_within_the_limit() -> None:
    text = "{ books { edges { node { authors { edges { node { books { edges { node { title } } } } } } } } } }"
    assert cost_of(text).evaluate({}) == 20 + 400 + 8000
    check_cost(cost_of(text), {}, LIMITS)


def test_an_operation_at_the_cost_limit_passes_and_one_node_more_does_not() -> None:
    check_cost(CostExpression(LIMITS.cost), {}, LIMITS)
    with pytest.raises(BadInput) as error:
        check_cost(CostExpression(LIMITS.cost + 1), {}, LIMITS)
    assert error.value.extensions == {"limit": "cost", "maximum": LIMITS.cost, "cost": LIMITS.cost + 1}


sizes = st.builds(PageSize, st.integers(0, 50), st.none() | st.sampled_from("xyz"))


@given(st.lists(sizes, max_size=6), st.dictionaries(st.sampled_from("xyz"), st.integers(-2, 50)))
def test_a_cost_multiplied_before_the_variables_are_known_is_the_same(
    factors: list[PageSize], variables: dict[str, object]
) -> None:
    multiplied_before, multiplied_after = CostExpression(3), 3
    for size in factors:
        multiplied_before = (multiplied_before + CostExpression(1)).times(size)
        multiplied_after = (multiplied_after + 1) * size.evaluate(variables)
    assert multiplied_before.evaluate(variables) == multiplied_after
