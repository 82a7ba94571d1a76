"""`GraphQLExecutor`: prepares and executes requests. `FastScalarExecutor`: resolves scalar fields faster."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import isawaitable
from operator import attrgetter
from typing import Any, TypeGuard, cast

import strawberry
from graphql import (
    ExecutionResult,
    Executor,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    OperationType,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

from keyfence.errors import BadInput, KeyfenceError
from keyfence.graphql.document_cache import DocumentCache, Operation
from keyfence.graphql.error_masking import (
    InvalidRequest,
    RenderedError,
    render_field_error,
    render_keyfence_error,
    render_request_error,
)
from keyfence.graphql.query_cost import check_cost
from keyfence.graphql.query_limits import QueryLimits, check_variables, introspection_forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQLRequest:
    """The parameters of a GraphQL request. Only their types have been checked."""

    query: str
    variables: Mapping[str, object] = field(default_factory=dict)
    operation_name: str | None = None
    extensions: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """The facts of a valid request that decide how the request is admitted and which context it gets."""

    request_id: str
    kind: OperationType
    is_mutation: bool
    operation_name: str | None = None
    root_field: str | None = None
    """The only root field, or None if there are several."""


# Strawberry declares its function without the TypeGuard that graphql-core requires.
_is_awaitable = cast("Callable[[Any], TypeGuard[Awaitable[Any]]]", optimized_is_awaitable)


@dataclass(frozen=True, slots=True)
class PreparedOperation:
    """A valid operation with coerced variables. `GraphQLExecutor.execute` executes it with a context."""

    operation: Operation
    executor: Executor[Any]


@dataclass(frozen=True, slots=True)
class GraphQLResult:
    """The result of an execution. `data` is None if a root field that is not nullable failed."""

    data: Mapping[str, object] | None
    errors: tuple[RenderedError, ...] = ()

    def body(self, extensions: Mapping[str, object] | None = None) -> dict[str, object]:
        body: dict[str, object] = {"errors": self.errors, "data": self.data} if self.errors else {"data": self.data}
        return {**body, "extensions": extensions} if extensions else body


class GraphQLExecutor:
    """Executes requests with graphql-core, and parses each document once.

    It does not use `strawberry.Schema.execute`. That method parses and validates the document each time. Its result
    does not show whether the request was invalid or a resolver failed."""

    def __init__(self, schema: strawberry.Schema, *, limits: QueryLimits | None = None) -> None:
        self.limits = limits or QueryLimits()
        self.documents = DocumentCache(schema._schema, limits=self.limits)
        self._schema = schema._schema
        self._executor_class = schema.execution_context_class

    def prepare(self, request: GraphQLRequest, *, may_introspect: bool = False) -> PreparedOperation:
        """Returns the operation that the request names.

        Raises InvalidRequest with all errors if the operation cannot be executed."""
        try:
            return self._prepare(request, may_introspect)
        except KeyfenceError as error:
            raise InvalidRequest([render_keyfence_error(error, request_id="")]) from error

    async def execute(self, prepared: PreparedOperation, context: object, *, request_id: str) -> GraphQLResult:
        prepared.executor.context_value = context
        result_or_awaitable = prepared.executor.execute_operation()
        result = await result_or_awaitable if isawaitable(result_or_awaitable) else result_or_awaitable
        assert isinstance(result, ExecutionResult)
        return GraphQLResult(result.data, tuple(render_field_error(error, request_id) for error in result.errors or ()))

    def _prepare(self, request: GraphQLRequest, may_introspect: bool) -> PreparedOperation:
        document = self.documents.get(request.query)
        operation = document.get_operation(request.operation_name)
        if operation.kind is OperationType.SUBSCRIPTION:
            raise BadInput("subscriptions are not supported")
        if operation.uses_introspection and not may_introspect:
            raise introspection_forbidden()
        check_variables(request.variables, self.limits)
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
            raise InvalidRequest(map(render_request_error, executor))
        check_cost(operation.cost, executor.variable_values.coerced, self.limits)
        return PreparedOperation(operation, executor)


ScalarReader = Callable[[Any], Any]
"""A function that receives an object, and returns the serialized value of one scalar field of the object."""


class FastScalarExecutor(StrawberryGraphQLCoreExecutionContext):
    """Resolves scalar fields with a plain function call.

    Most fields of a list are scalars. For a scalar, graphql-core needs more time before and after the resolver than for
    the resolver itself. If the value is null or an exception is raised, graphql-core resolves the field again, so that
    errors are the same."""

    def execute_field(
        self, parent_type: GraphQLObjectType, source: Any, field_details_list: Any, path: Any, position_context: Any
    ) -> Any:
        read_scalar = scalar_readers(self.schema).get((parent_type.name, field_details_list[0].node.name.value))
        if read_scalar is not None:
            try:
                value = read_scalar(source)
            except Exception:  # noqa: BLE001 - graphql-core resolves the field again and reports the error
                value = None
            if value is not None and value is not Undefined:
                return value
        return super().execute_field(parent_type, source, field_details_list, path, position_context)


@cache
def scalar_readers(schema: GraphQLSchema) -> Mapping[tuple[str, str], ScalarReader]:
    """Returns the readers of all scalar fields whose value depends only on the object, by type name and field name."""
    object_types = [type_ for type_ in schema.type_map.values() if isinstance(type_, GraphQLObjectType)]
    return {(type_.name, name): reader for type_ in object_types for name, reader in _readers_of_type(type_)}


def _readers_of_type(object_type: GraphQLObjectType) -> Iterator[tuple[str, ScalarReader]]:
    for name, field_definition in object_type.fields.items():
        field_type = get_nullable_type(field_definition.type)
        resolve = _find_simple_resolver(field_definition)
        if resolve is not None and is_leaf_type(field_type):
            yield name, _resolve_and_serialize(resolve, field_type.coerce_output_value)


def _resolve_and_serialize(resolve: Callable[[Any], Any], serialize: Callable[[Any], Any]) -> ScalarReader:
    def read_scalar(source: Any) -> Any:
        value = resolve(source)
        return None if value is None else serialize(value)

    return read_scalar


def _find_simple_resolver(field_definition: GraphQLField) -> Callable[[Any], Any] | None:
    """Returns a function that receives the object and returns the field's value.

    Returns None if the resolver needs more than the object, such as arguments, or if it is asynchronous."""
    declaration = (field_definition.extensions or {}).get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(declaration, StrawberryField):
        return None
    if declaration.is_basic_field:
        return attrgetter(declaration.python_name)
    resolver = declaration.base_resolver
    if resolver is None or resolver.is_async or resolver.info_parameter:
        return None
    if declaration.arguments or declaration.extensions:
        return None
    return cast("Callable[[Any], Any]", resolver.wrapped_func)
