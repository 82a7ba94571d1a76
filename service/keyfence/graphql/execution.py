"""The running of one GraphQL request against a schema."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, TypeGuard, cast

import strawberry
from graphql import ExecutionResult, Executor, OperationType
from strawberry.execution import optimized_is_awaitable

from keyfence.errors import BadInput, KeyfenceError
from keyfence.graphql.cost import check_cost
from keyfence.graphql.document_cache import Documents, Operation
from keyfence.graphql.errors import Refused, Rendered, render, render_field_error, render_request_error
from keyfence.graphql.introspection import introspection_refused
from keyfence.graphql.limits import Limits
from keyfence.graphql.request import GraphQLRequest

_is_awaitable = cast("Callable[[Any], TypeGuard[Awaitable[Any]]]", optimized_is_awaitable)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request found good: it only lacks its context."""

    operation: Operation
    executor: Executor[Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What execution gave; `data` is None where a null reached the root."""

    data: Mapping[str, object] | None
    errors: tuple[Rendered, ...] = ()

    def body(self, extensions: Mapping[str, object] | None = None) -> dict[str, object]:
        body: dict[str, object] = {"errors": self.errors, "data": self.data} if self.errors else {"data": self.data}
        return {**body, "extensions": extensions} if extensions else body


class GraphQLExecutor:
    """Runs requests with graphql-core's executor, each text being read once.

    `strawberry.Schema.execute` is passed by: it answers refused and failed requests alike, and its extensions would
    look up again what `prepare` already holds.
    """

    def __init__(self, schema: strawberry.Schema, *, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.documents = Documents(schema._schema, limits=self.limits)
        self._schema = schema._schema
        self._executor_class = schema.execution_context_class

    def prepare(self, request: GraphQLRequest, *, introspection: bool = False) -> Prepared:
        """Raises Refused with the errors of a request that cannot run."""
        try:
            return self._prepare(request, introspection)
        except KeyfenceError as error:
            raise Refused([render(error, request_id="")]) from error

    async def execute(self, prepared: Prepared, context: object, *, request_id: str) -> Answer:
        prepared.executor.context_value = context
        outcome = prepared.executor.execute_operation()
        result = await outcome if isawaitable(outcome) else outcome
        assert isinstance(result, ExecutionResult)
        return Answer(result.data, tuple(render_field_error(error, request_id) for error in result.errors or ()))

    def _prepare(self, request: GraphQLRequest, introspection: bool) -> Prepared:
        document = self.documents.get(request.query)
        operation = document.operation(request.operation_name)
        if operation.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are not served here")
        if operation.introspects and not introspection:
            raise introspection_refused()
        executor = self._executor_class.build(
            self._schema,
            document.node,
            raw_variable_values=dict(request.variables),
            operation_name=request.operation_name,
            is_awaitable=_is_awaitable,
            hide_suggestions=True,
            operation_extensions=dict(request.extensions),
        )
        if isinstance(executor, list):
            raise Refused(map(render_request_error, executor))
        check_cost(operation.price, executor.variable_values.coerced, self.limits)
        return Prepared(operation, executor)
