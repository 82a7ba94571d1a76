"""A request is invalid, or is executed field by field."""

from typing import Any

import pytest
from graphql import OperationType, get_introspection_query

from keyfence.graphql.error_masking import InvalidRequest, RenderedError
from keyfence.graphql.executor import GraphQLExecutor, GraphQLRequest, GraphQLResult
from keyfence.graphql.query_limits import QueryLimits
from tests.service.graphql.bookshop_schema import bookshop

BAD = {"code": "BAD_USER_INPUT"}


@pytest.fixture
def executor() -> GraphQLExecutor:
    return GraphQLExecutor(bookshop)


async def run(executor: GraphQLExecutor, query: str, context: object = None, **variables: object) -> GraphQLResult:
    prepared = executor.prepare(GraphQLRequest(query=query, variables=variables), may_introspect=True)
    return await executor.execute(prepared, context, request_id="r-1")


def refused(executor: GraphQLExecutor, query: str, **given: Any) -> RenderedError:
    may_introspect = given.pop("may_introspect", False)
    with pytest.raises(InvalidRequest) as caught:
        executor.prepare(GraphQLRequest(query=query, **given), may_introspect=may_introspect)
    return caught.value.errors[0]


async def test_resolvers_see_the_context_of_their_request(executor: GraphQLExecutor) -> None:
    assert await run(executor, "{ caller }", "acme") == GraphQLResult({"caller": "acme"})
    assert await run(executor, "{ caller }", "globex") == GraphQLResult({"caller": "globex"})


async def test_a_prepared_request_knows_whether_it_is_a_mutation(executor: GraphQLExecutor) -> None:
    both = 'query A { caller } mutation B { add(book: {title: "x"}) { id } }'
    kinds = [executor.prepare(GraphQLRequest(query=both, operation_name=name)).operation.kind for name in ("A", "B")]
    assert kinds == [OperationType.QUERY, OperationType.MUTATION]


async def test_only_the_named_operation_runs(executor: GraphQLExecutor) -> None:
    request = GraphQLRequest(query="query A { caller } query B { __typename }", operation_name="B")
    assert await executor.execute(executor.prepare(request), "x", request_id="r-1") == GraphQLResult(
        {"__typename": "Query"}
    )


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("$v: Int!", None),
        ("$v: Int", "seven"),
        ("$v: Int", 2**40),
        ("$v: Int", {"a": 1}),
        ("$v: Int", True),
    ],
)
def test_a_variable_of_the_wrong_type_is_an_invalid_request(
    executor: GraphQLExecutor, declared: str, value: object
) -> None:
    error = refused(executor, f"query ({declared}) {{ same(number: $v) }}", variables={"v": value})
    assert error["extensions"] == BAD


@pytest.mark.parametrize(
    ("argument", "type_name"), [("at", "DateTime"), ("amount", "Decimal"), ("binding", "Binding!")]
)
def test_a_scalar_that_cannot_be_parsed_is_an_invalid_request(
    executor: GraphQLExecutor, argument: str, type_name: str
) -> None:
    by_variable = refused(executor, f"query ($v: {type_name}) {{ same({argument}: $v) }}", variables={"v": "CLOT"})
    by_literal = refused(executor, f'{{ same({argument}: "CLOT") }}')
    assert by_variable["extensions"] == by_literal["extensions"] == BAD
    assert "mean" not in str((by_variable, by_literal))


async def test_an_explicit_null_where_none_may_be_is_the_callers_fault(executor: GraphQLExecutor) -> None:
    query = "mutation ($b: BookInput!) { add(book: $b) { id } }"
    answer = await run(executor, query, b={"title": "x", "note": None})
    assert [error["extensions"] for error in answer.errors] == [BAD]


def test_variables_can_make_an_operation_exceed_the_cost_limit() -> None:
    executor = GraphQLExecutor(bookshop, limits=QueryLimits(cost=30))
    query = "query ($n: Int) { books(first: $n) { edges { cursor } } }"
    executor.prepare(GraphQLRequest(query=query, variables={"n": 30}))
    error = refused(executor, query, variables={"n": 31})
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "limit": "cost", "maximum": 30, "cost": 31}


async def test_a_page_size_out_of_bounds_is_left_to_the_resolver(executor: GraphQLExecutor) -> None:
    answer = await run(executor, "{ books(first: 101) { edges { cursor } } }")
    assert answer.data is None
    assert answer.errors[0]["extensions"] == {"code": "BAD_USER_INPUT", "field": "first"}


@pytest.mark.parametrize(
    "query",
    [
        "{ __schema { types { name } } }",
        '{ __type(name: "Book") { name } }',
        "{ ...F } fragment F on Query { ... { __schema { types { name } } } }",
        get_introspection_query(),
    ],
)
async def test_introspection_needs_permission(executor: GraphQLExecutor, query: str) -> None:
    assert refused(executor, query)["extensions"] == {"code": "FORBIDDEN"}
    answer = await run(executor, query)
    assert answer.data
    assert not answer.errors


async def test_typename_needs_no_permission(executor: GraphQLExecutor) -> None:
    executor.prepare(GraphQLRequest(query="{ __typename book(id: 1) { __typename } }"), may_introspect=False)


async def test_a_null_root_is_a_result_and_not_an_invalid_request(executor: GraphQLExecutor) -> None:
    answer = await run(executor, '{ fail(how: "not found") }')
    assert answer.body().keys() == {"data", "errors"}
    assert answer.data is None


async def test_a_failed_field_leaves_the_others(executor: GraphQLExecutor) -> None:
    answer = await run(executor, '{ maybeFail(how: "not found") caller }', "acme")
    assert answer.data == {"maybeFail": None, "caller": "acme"}
