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
class Thing:
    """A thing with every kind of leaf."""

    name: str
    maybe: str | None
    count: int
    at: datetime
    colour: Colour
    tags: list[str]
    value: JSON

    @strawberry.field
    def shouted(self) -> str:
        return self.name.upper()

    @strawberry.field
    def lost(self) -> str:
        raise NotFound("it is lost")

    @strawberry.field
    def perhaps_lost(self) -> str | None:
        raise NotFound("it may be lost")

    @strawberry.field
    def repeated(self, times: int = 2) -> str:
        return self.name * times

    @strawberry.field
    async def later(self) -> str:
        return f"later {self.name}"


THING: Any = {
    "name": "n", "maybe": None, "count": 3, "at": datetime(2026, 11, 16, tzinfo=UTC), "colour": Colour.RED,
    "tags": ["a"], "value": {"deep": [1]},
}  # fmt: skip


@strawberry.type
class Query:
    @strawberry.field
    async def thing(self) -> Thing:
        return Thing(**THING)

    @strawberry.field
    async def broken(self) -> Thing:
        return Thing(**{**THING, "name": None, "count": "many"})


def executor(short: bool) -> GraphQLExecutor:
    config = StrawberryConfig(scalar_map=SCALARS)
    chosen: dict[str, Any] = {"execution_context_class": FastScalarExecutor} if short else {}
    return GraphQLExecutor(strawberry.Schema(query=Query, config=config, **chosen))


QUERIES = [
    "{ thing { name maybe count at colour tags value shouted __typename } }",
    "{ thing { a: name b: name repeated r3: repeated(times: 3) later } }",
    "{ thing { name ... on Thing { shouted @skip(if: true) count @include(if: true) } } }",
    "{ thing { lost } }",
    "{ thing { name perhapsLost } }",
    "{ broken { name } }",
    "{ broken { maybe count } }",
    "{ thing { name } broken { shouted } }",
]


@pytest.mark.parametrize("query", QUERIES)
async def test_the_fast_path_and_graphql_core_return_the_same(query: str) -> None:
    answers = []
    for short in (True, False):
        runs = executor(short)
        answer = await runs.execute(runs.prepare(GraphQLRequest(query=query)), None, request_id="r")
        answers.append(answer.body())
    assert answers[0] == answers[1]


def test_only_synchronous_fields_without_arguments_have_a_leaf_reader() -> None:
    schema: GraphQLSchema = strawberry.Schema(query=Query, config=StrawberryConfig(scalar_map=SCALARS))._schema
    names = {field for type_, field in scalar_readers(schema) if type_ == "Thing"}
    assert names == {"name", "maybe", "count", "at", "colour", "value", "shouted", "lost", "perhapsLost"}
