"""A request that is invalid is not executed. In a valid request, a field that fails does not affect other fields."""

from typing import Any

import pytest
from graphql import OperationType, get_introspection_query

from keyfence.graphql.error_masking import InvalidRequest, RenderedError
from keyfence.graphql.executor import GraphQLExecutor, GraphQLRequest, GraphQLResult
from keyfence.graphql.query_limits import QueryLimits
from tests.service.graphql.bookshop_schema import bookshop

BAD_USER_INPUT = {"code": "BAD_USER_INPUT"}


@pytest.fixture
def executor() -> GraphQLExecutor:
    return GraphQLExecutor(bookshop)


async def run(executor: GraphQLExecutor, query: str, context: object = None, **variables: object) -> GraphQLResult:
    prepared = executor.prepare(GraphQLRequest(query=query, variables=variables), may_introspect=True)
    return await executor.execute(prepared, context, request_id="r-1")


def error_of_invalid_request(executor: GraphQLExecutor, query: str, **parameters: Any) -> RenderedError:
    may_introspect = parameters.pop("may_introspect", False)
    with pytest.raises(InvalidRequest) as caught:
        executor.prepare(GraphQLRequest(query=query, **parameters), may_introspect=may_introspect)
    return caught.value.errors[0]


async def test_resolvers_see_the_context_of_their_request(executor: GraphQLExecutor) -> None:
    assert await run(executor, "{ caller }", "acme") == GraphQLResult({"caller": "acme"})
    assert await run(executor, "{ caller }", "globex") == GraphQLResult({"caller": "globex"})


async def test_a_prepared_request_knows_whether_it_is_a_mutation(executor: GraphQLExecutor) -> None:
    document = 'query A { caller } mutation B { add(book: {title: "x"}) { id } }'
    kinds = [
        executor.prepare(GraphQLRequest(query=document, operation_name=name)).operation.kind for name in ("A", "B")
    ]
    assert kinds == [OperationType.QUERY, OperationType.MUTATION]


async def test_only_the_named_operation_runs(executor: GraphQLExecutor) -> None:
    request = GraphQLRequest(query="query A { caller } query B { __typename }", operation_name="B")
    assert await executor.execute(executor.prepare(request), "x", request_id="r-1") == GraphQLResult(
        {"__typename": "Query"}
    )


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("$v: Int!", None),
        ("$v: Int", "seven"),
        ("$v: Int", 2**40),
        ("$v: Int", {"a": 1}),
        ("$v: Int", True),
    ],
)
def test_a_variable_of_the_wrong_type_is_an_invalid_request(
    executor: GraphQLExecutor, declaration: str, value: object
) -> None:
    error = error_of_invalid_request(executor, f"query ({declaration}) {{ same(number: $v) }}", variables={"v": value})
    assert error["extensions"] == BAD_USER_INPUT


@pytest.mark.parametrize(
    ("argument", "type_name"), [("at", "DateTime"), ("amount", "Decimal"), ("binding", "Binding!")]
)
def test_a_scalar_that_cannot_be_parsed_is_an_invalid_request(
    executor: GraphQLExecutor, argument: str, type_name: str
) -> None:
    by_variable = error_of_invalid_request(
        executor, f"query ($v: {type_name}) {{ same({argument}: $v) }}", variables={"v": "CLOT"}
    )
    by_literal = error_of_invalid_request(executor, f'{{ same({argument}: "CLOT") }}')
    assert by_variable["extensions"] == by_literal["extensions"] == BAD_USER_INPUT
    assert "mean" not in str((by_variable, by_literal))


async def test_a_null_for_a_field_that_may_only_be_omitted_is_bad_input(executor: GraphQLExecutor) -> None:
    query = "mutation ($b: BookInput!) { add(book: $b) { id } }"
    result = await run(executor, query, b={"title": "x", "note": None})
    assert [error["extensions"] for error in result.errors] == [BAD_USER_INPUT]


def test_variables_can_make_an_operation_exceed_the_cost_limit() -> None:
    executor = GraphQLExecutor(bookshop, limits=QueryLimits(cost=30))
    query = "query ($n: Int) { books(first: $n) { edges { cursor } } }"
    executor.prepare(GraphQLRequest(query=query, variables={"n": 30}))
    error = error_of_invalid_request(executor, query, variables={"n": 31})
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "limit": "cost", "maximum": 30, "cost": 31}


async def test_a_page_size_out_of_bounds_is_left_to_the_resolver(executor: GraphQLExecutor) -> None:
    result = await run(executor, "{ books(first: 101) { edges { cursor } } }")
    assert result.data is None
    assert result.errors[0]["extensions"] == {"code": "BAD_USER_INPUT", "field": "first"}


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
    assert error_of_invalid_request(executor, query)["extensions"] == {"code": "FORBIDDEN"}
    result = await run(executor, query)
    assert result.data
    assert not result.errors


async def test_typename_needs_no_permission(executor: GraphQLExecutor) -> None:
    executor.prepare(GraphQLRequest(query="{ __typename book(id: 1) { __typename } }"), may_introspect=False)


async def test_a_null_root_is_a_result_and_not_an_invalid_request(executor: GraphQLExecutor) -> None:
    result = await run(executor, '{ fail(how: "not found") }')
    assert result.body().keys() == {"data", "errors"}
    assert result.data is None


async def test_a_field_that_fails_does_not_affect_other_fields(executor: GraphQLExecutor) -> None:
    result = await run(executor, '{ maybeFail(how: "not found") caller }', "acme")
    assert result.data == {"maybeFail": None, "caller": "acme"}
