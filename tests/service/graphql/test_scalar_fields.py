"""The fast path for scalar fields returns what graphql-core returns, also for errors and nulls."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
import strawberry
from graphql import GraphQLSchema
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig

from keyfence.errors import NotFound
from keyfence.graphql.executor import FastScalarExecutor, GraphQLExecutor, GraphQLRequest, scalar_readers
from keyfence.graphql.scalars import SCALARS


@strawberry.enum
class Colour(StrEnum):
    RED = "RED"


@strawberry.type
class Example:
    """An object with every kind of scalar field."""

    name: str
    nullable_text: str | None
    count: int
    at: datetime
    colour: Colour
    tags: list[str]
    value: JSON

    @strawberry.field
    def upper_name(self) -> str:
        return self.name.upper()

    @strawberry.field
    def failing(self) -> str:
        raise NotFound("the field fails")

    @strawberry.field
    def nullable_failing(self) -> str | None:
        raise NotFound("the nullable field fails")

    @strawberry.field
    def repeated(self, times: int = 2) -> str:
        return self.name * times

    @strawberry.field
    async def async_name(self) -> str:
        return f"async_name {self.name}"


EXAMPLE_VALUES: Any = {
    "name": "n", "nullable_text": None, "count": 3, "at": datetime(2026, 11, 16, tzinfo=UTC), "colour": Colour.RED,
    "tags": ["a"], "value": {"deep": [1]},
}  # fmt: skip


@strawberry.type
class Query:
    @strawberry.field
    async def thing(self) -> Example:
        return Example(**EXAMPLE_VALUES)

    @strawberry.field
    async def broken(self) -> Example:
        return Example(**{**EXAMPLE_VALUES, "name": None, "count": "many"})


def executor(use_fast_path: bool) -> GraphQLExecutor:
    config = StrawberryConfig(scalar_map=SCALARS)
    options: dict[str, Any] = {"execution_context_class": FastScalarExecutor} if use_fast_path else {}
    return GraphQLExecutor(strawberry.Schema(query=Query, config=config, **options))


QUERIES = [
    "{ thing { name nullableText count at colour tags value upperName __typename } }",
    "{ thing { a: name b: name repeated r3: repeated(times: 3) asyncName } }",
    "{ thing { name ... on Example { upperName @skip(if: true) count @include(if: true) } } }",
    "{ thing { failing } }",
    "{ thing { name nullableFailing } }",
    "{ broken { name } }",
    "{ broken { nullableText count } }",
    "{ thing { name } broken { upperName } }",
]


@pytest.mark.parametrize("query", QUERIES)
async def test_the_fast_path_and_graphql_core_return_the_same(query: str) -> None:
    bodies = []
    for use_fast_path in (True, False):
        graphql_executor = executor(use_fast_path)
        result = await graphql_executor.execute(
            graphql_executor.prepare(GraphQLRequest(query=query)), None, request_id="r"
        )
        bodies.append(result.body())
    assert bodies[0] == bodies[1]


def test_only_synchronous_scalar_fields_without_arguments_have_a_reader() -> None:
    schema: GraphQLSchema = strawberry.Schema(query=Query, config=StrawberryConfig(scalar_map=SCALARS))._schema
    names = {field for type_, field in scalar_readers(schema) if type_ == "Example"}
    assert names == {
        "name",
        "nullableText",
        "count",
        "at",
        "colour",
        "value",
        "upperName",
        "failing",
        "nullableFailing",
    }
